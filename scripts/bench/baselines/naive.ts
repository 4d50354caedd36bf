import type { JobsOptions } from 'bullmq';

export interface TransferRequest {
  readonly fromAccountId: string;
  readonly toAccountId: string;
  readonly amount: number;
}

export interface TransferResult extends TransferRequest {
  readonly id: string;
  readonly status: 'COMPLETED';
  readonly createdAt: string;
}

export const queueName = 'transfers';
export const prefix = 'naive';
export const answerTimeoutMs = 10_000;

// Not `true`: a job that is gone before its API process asks for it makes waitUntilFinished reject.
export const jobOptions: JobsOptions = { removeOnComplete: 1_000, removeOnFail: 1_000 };

/** The tables as one would write them, in a database of their own. */
export const schema = `
  create table accounts (
    id uuid primary key default gen_random_uuid(),
    balance bigint not null check (balance >= 0)
  );
  create table transfers (
    id bigint generated always as identity primary key,
    from_account_id uuid not null references accounts,
    to_account_id uuid not null references accounts,
    amount bigint not null,
    created_at timestamptz not null default now()
  );
  create table movements (
    id bigint generated always as identity primary key,
    account_id uuid not null references accounts,
    transfer_id bigint not null references transfers,
    amount bigint not null,
    created_at timestamptz not null default now()
  );
  create index movements_of_account on movements (account_id);`;
