import { describeScenarios } from '../support/lab/describe-scenarios.ts';
import { redisScenarios } from './scenarios/redis.ts';

describeScenarios('redis', redisScenarios);
