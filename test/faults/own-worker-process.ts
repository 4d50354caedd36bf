import { pino } from 'pino';
import { startService } from '../../src/compose.ts';
import { readConfig } from '../../src/config.ts';
import { operations } from '../../src/processors/registry.ts';
import { ownOperations } from './own-operations.ts';

// A worker that knows the operations of the tests, in a process of its own, so that it can be killed and paused.
const config = readConfig(process.env, 'worker');
const service = await startService({
  config,
  role: 'worker',
  log: pino({ level: 'silent' }),
  operations: [...operations, ...ownOperations],
});
console.log('started');
process.on('SIGTERM', () => void service.close().then(() => process.exit(0)));
