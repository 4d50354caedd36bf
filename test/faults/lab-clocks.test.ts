import { describeScenarios } from '../support/lab/describe-scenarios.ts';
import { clockScenarios } from './scenarios/clocks.ts';

describeScenarios('clocks', clockScenarios);
