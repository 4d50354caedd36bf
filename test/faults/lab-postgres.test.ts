import { describeScenarios } from '../support/lab/describe-scenarios.ts';
import { postgresScenarios } from './scenarios/postgres.ts';

describeScenarios('postgres', postgresScenarios);
