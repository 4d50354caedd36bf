import { describeScenarios } from '../support/lab/describe-scenarios.ts';
import { trafficScenarios } from './scenarios/traffic.ts';

describeScenarios('traffic', trafficScenarios);
