import { describeScenarios } from '../support/lab/describe-scenarios.ts';
import { processScenarios } from './scenarios/processes.ts';

describeScenarios('processes', processScenarios);
