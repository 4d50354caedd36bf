import { describe, expect, it } from 'vitest';
import {
  type DedupStore,
  type HandlerContext,
  IdempotentReceiver,
  InFlightElsewhereError,
  LeaseLostError,
  LruDedupStore,
  MissingIdError,
  type ReceiverOptions,
  type Risk,
  StoreAwayError,
  UnstorableResultError,
} from '../../src/index.ts';
import { eventually } from '../support/eventually.ts';
import { BrokenStore } from './broken-store.ts';

type Message = { id?: string; value?: unknown };

function createReceiver(store: DedupStore, options: Partial<ReceiverOptions<Message, unknown>> = {}) {
  const seen = { handled: [] as Message[], risks: [] as Risk[], warnings: [] as string[] };
  const receiver = new IdempotentReceiver<Message, unknown>({
    store,
    idOf: ({ id }) => id,
    handler: (message) => `result ${seen.handled.push(message)}`,
    onRisk: (risk) => seen.risks.push(risk),
    log: { warn: (_fields, message) => seen.warnings.push(message) },
    storeTimeoutMs: 200,
    ...options,
  });
  return { receiver, ...seen };
}

describe('a message without an id', () => {
  it('is refused', async () => {
    const { receiver, handled } = createReceiver(new LruDedupStore());
    await expect(receiver.receive({})).rejects.toThrow(MissingIdError);
    await expect(receiver.receive({ id: '' })).rejects.toThrow(MissingIdError);
    expect(handled).toEqual([]);
  });

  it('is delivered each time if that was chosen', async () => {
    const { receiver } = createReceiver(new LruDedupStore(), { whenIdIsMissing: 'deliver' });
    const expected = { duplicate: false, recorded: false };
    expect(await receiver.receive({})).toEqual({ result: 'result 1', ...expected });
    expect(await receiver.receive({})).toEqual({ result: 'result 2', ...expected });
  });
});

describe('closed: a store that is away', () => {
  it.each(['fail', 'hang'] as const)('refuses before the handler runs (%s), and loses nothing', async (fault) => {
    const store = new BrokenStore();
    const { receiver, handled, risks } = createReceiver(store);
    store.break('take', fault);
    const error = await receiver.receive({ id: 'a' }).catch((reason) => reason);
    expect(error).toBeInstanceOf(StoreAwayError);
    expect(error).toMatchObject({ code: 'STORE_AWAY', handlerRan: false, cause: expect.any(Error) });
    expect(handled).toEqual([]);
    await store.mend();
    // A mark that came through late is taken back, so that nobody has to wait for the end of its lease.
    expect(await receiver.receive({ id: 'a' })).toMatchObject({ duplicate: false, recorded: true });
    expect(risks).toEqual([]);
  });

  it('says so if the work is done but not recorded, and counts the risk', async () => {
    const store = new BrokenStore();
    const { receiver, risks, warnings } = createReceiver(store);
    store.break('finish');
    const error = await receiver.receive({ id: 'a' }).catch((reason) => reason);
    expect(error).toBeInstanceOf(StoreAwayError);
    expect(error).toMatchObject({ handlerRan: true });
    expect(risks).toMatchObject([{ kind: 'result-not-recorded', key: { namespace: 'default', id: 'a' } }]);
    expect(warnings).toHaveLength(1);
    // Until the lease ends, nobody does the work again.
    await expect(receiver.receive({ id: 'a' })).rejects.toThrow(InFlightElsewhereError);
  });

  it('a store that is away for a moment only does no harm to a finished work', async () => {
    const store = new BrokenStore();
    const { receiver, risks } = createReceiver(store);
    store.break('finish', 'fail', 2);
    expect(await receiver.receive({ id: 'a' })).toMatchObject({ result: 'result 1', recorded: true });
    expect(risks).toEqual([]);
  });
});

describe('open: a store that is away', () => {
  it.each(['fail', 'hang'] as const)('does not stop the handler (%s); it is warned of and counted', async (fault) => {
    const store = new BrokenStore();
    const { receiver, handled, risks, warnings } = createReceiver(store, { whenStoreIsAway: 'deliver' });
    store.break('take', fault);
    const expected = { duplicate: false, recorded: false };
    expect(await receiver.receive({ id: 'a' })).toEqual({ result: 'result 1', ...expected });
    expect(await receiver.receive({ id: 'a' })).toEqual({ result: 'result 2', ...expected });
    expect(handled).toHaveLength(2);
    expect(risks.map(({ kind }) => kind)).toEqual(['delivered-without-store', 'delivered-without-store']);
    expect(warnings[0]).toContain('default/a');
    expect(receiver.riskCount).toBe(2);
    await store.mend();
  });

  it('does not take a result away from its caller', async () => {
    const store = new BrokenStore();
    const { receiver, risks } = createReceiver(store, { whenStoreIsAway: 'deliver' });
    store.break('finish');
    expect(await receiver.receive({ id: 'a' })).toEqual({ result: 'result 1', duplicate: false, recorded: false });
    expect(risks.map(({ kind }) => kind)).toEqual(['result-not-recorded']);
  });

  it('a metric that fails does not stop the delivery', async () => {
    const store = new BrokenStore();
    const onRisk = () => {
      throw new Error('no such metric');
    };
    const { receiver, warnings } = createReceiver(store, { whenStoreIsAway: 'deliver', onRisk });
    store.break('take');
    expect(await receiver.receive({ id: 'a' })).toMatchObject({ result: 'result 1' });
    expect(warnings).toHaveLength(2);
  });
});

describe('a handler', () => {
  it('that fails while the store is away still says why', async () => {
    const store = new BrokenStore();
    store.break('release');
    const failure = new Error('no paper');
    const { receiver, warnings } = createReceiver(store, { handler: () => Promise.reject(failure) });
    await expect(receiver.receive({ id: 'a' })).rejects.toBe(failure);
    expect(warnings).toEqual(['Message a stays in flight until the end of its lease.']);
  });

  it('gets what stands for the message, and a signal when another delivery has taken it over', async () => {
    const store = new BrokenStore({ leaseMs: 300 });
    let context: HandlerContext | undefined;
    const handler = async (_message: Message, given: HandlerContext) => {
      context = given;
      // As if this process could not reach the store for longer than its lease, and another one could.
      store.break('take');
      await eventually(() => expect(given.signal.aborted).toBe(true), { timeoutMs: 400 }).catch(() => undefined);
      void store.mend();
      await eventually(async () => {
        const newer = await store.take({ namespace: 'default', id: 'a' }, '00000000-0000-4000-8000-000000000000');
        expect(newer).toEqual({ state: 'taken' });
      });
      await eventually(() => expect(given.signal.aborted).toBe(true));
    };
    const { receiver } = createReceiver(store, { handler });
    await expect(receiver.receive({ id: 'a' })).rejects.toThrow(LeaseLostError);
    expect(context?.id).toBe('a');
    expect(context?.signal.reason).toBeInstanceOf(LeaseLostError);
  });

  it('whose result is not JSON has done its work once all the same', async () => {
    const handled: Message[] = [];
    const handler = (message: Message) => ({ count: BigInt(handled.push(message)) });
    const { receiver } = createReceiver(new LruDedupStore(), { handler });
    for (const _ of [1, 2]) await expect(receiver.receive({ id: 'a' })).rejects.toThrow(UnstorableResultError);
    expect(handled).toHaveLength(1);
  });

  it('gives the first caller and the later ones the same, also if JSON changes it', async () => {
    const { receiver } = createReceiver(new LruDedupStore(), { handler: () => ({ at: new Date(0), none: undefined }) });
    const [first, second] = [await receiver.receive({ id: 'a' }), await receiver.receive({ id: 'a' })];
    expect(first.result).toStrictEqual({ at: '1970-01-01T00:00:00.000Z' });
    expect(second.result).toStrictEqual(first.result);
  });
});

it('every error has a code and its own name', async () => {
  const key = { namespace: 'mail', id: 'a' };
  const error = new InFlightElsewhereError(key, 5);
  expect(error).toMatchObject({ code: 'IN_FLIGHT_ELSEWHERE', name: 'InFlightElsewhereError', key, freeInMs: 5 });
  expect(String(error)).toBe('InFlightElsewhereError: Message mail/a is in flight elsewhere.');
});
