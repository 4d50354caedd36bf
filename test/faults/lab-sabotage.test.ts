import { describeScenarios } from '../support/lab/describe-scenarios.ts';
import { sabotageScenarios } from './scenarios/sabotage.ts';

describeScenarios('sabotage', sabotageScenarios);
