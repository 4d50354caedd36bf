import { type Kysely, sql } from 'kysely';

/** A group of transfers in one round trip: claim the records, move the money, finish the records. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function format_instant(p_at timestamptz) returns text language sql immutable as
    $$ select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$`.execute(db);
  await createApply(db);
  await createGroup(db);
}

/** One transfer, with both accounts already locked. Returns what the record's outcome will be. */
async function createApply(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function reject_transfer(p_record records, p_code text, p_detail text, p_ttl_seconds integer)
    returns record_outcome language sql as $$
      select row (p_record.id, p_record.epoch, 'REJECTED', null, null,
        jsonb_build_object('code', p_code, 'message', p_detail), null, null,
        jsonb_build_array(jsonb_build_object('type', 'transfer.rejected', 'data',
          jsonb_build_object('operationId', p_record.id, 'code', p_code, 'request', p_record.request))),
        p_ttl_seconds, jsonb_build_object('code', p_code))::record_outcome
    $$`.execute(db);
  await sql`
    create function apply_transfer(p_record records, p_ttl_seconds integer) returns record_outcome language plpgsql as $$
    declare
      v_from_id uuid := p_record.request ->> 'fromAccountId';
      v_to_id uuid := p_record.request ->> 'toAccountId';
      v_amount bigint := p_record.request ->> 'amount';
      v_from accounts;
      v_to accounts;
      v_body text;
    begin
      if v_from_id = v_to_id then
        return reject_transfer(p_record, 'SAME_ACCOUNT', 'A transfer needs two different accounts.', p_ttl_seconds);
      end if;
      select * into v_from from accounts where id = v_from_id and client = p_record.client and kind = 'customer';
      select * into v_to from accounts where id = v_to_id and client = p_record.client and kind = 'customer';
      if v_from.id is null then
        return reject_transfer(p_record, 'ACCOUNT_NOT_FOUND', format('There is no account %s to take from.', v_from_id), p_ttl_seconds);
      end if;
      if v_to.id is null then
        return reject_transfer(p_record, 'ACCOUNT_NOT_FOUND', format('There is no account %s to give to.', v_to_id), p_ttl_seconds);
      end if;
      if v_from.currency <> v_to.currency then
        return reject_transfer(p_record, 'CURRENCY_MISMATCH',
          format('The accounts are in %s and %s.', v_from.currency, v_to.currency), p_ttl_seconds);
      end if;
      if v_from.balance - v_amount < -v_from.overdraft_limit then
        return reject_transfer(p_record, 'INSUFFICIENT_FUNDS', 'The balance and the overdraft limit do not cover the amount.', p_ttl_seconds);
      end if;
      if v_to.balance + v_amount > 9007199254740991 then
        return reject_transfer(p_record, 'BALANCE_LIMIT', 'The receiving account cannot hold that much.', p_ttl_seconds);
      end if;

      update accounts
      set balance = balance + case id when v_from_id then -v_amount else v_amount end, version = version + 1
      where id in (v_from_id, v_to_id);
      with transfer as (
        insert into transfers (id, client, from_account_id, to_account_id, amount, currency, description)
        values (p_record.id, p_record.client, v_from_id, v_to_id, v_amount, v_from.currency, p_record.request ->> 'description')
      )
      insert into movements (account_id, operation_id, kind, amount, balance_after)
      values (v_from_id, p_record.id, 'transfer', -v_amount, v_from.balance - v_amount),
        (v_to_id, p_record.id, 'transfer', v_amount, v_to.balance + v_amount);

      v_body := format(
        '{"id":"%s","fromAccountId":"%s","toAccountId":"%s","amount":%s,"currency":%s,"description":%s,"status":"COMPLETED","createdAt":"%s"}',
        p_record.id, v_from_id, v_to_id, v_amount, to_json(v_from.currency),
        coalesce(to_json(p_record.request ->> 'description')::text, 'null'), format_instant(now()));
      return row (p_record.id, p_record.epoch, 'SUCCEEDED', 201, v_body, null, 'transfer', p_record.id,
        jsonb_build_array(jsonb_build_object('type', 'transfer.completed', 'data', v_body::jsonb)),
        p_ttl_seconds, null)::record_outcome;
    end $$`.execute(db);
}

async function createGroup(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function create_transfers(p_ids uuid[], p_actor text, p_ttl_seconds integer) returns setof records
    language plpgsql set enable_seqscan = off as $$
    declare
      v_claimed records[];
      v_outcomes record_outcome[] := '{}';
      v_record records;
    begin
      select coalesce(array_agg(c order by c.id), '{}') into v_claimed from claim_records(p_ids, p_actor) c;

      -- All accounts of the group in one fixed order, so that opposing transfers wait instead of deadlocking.
      perform 1 from accounts
      where id in (
        select (c.request ->> 'fromAccountId')::uuid from unnest(v_claimed) c
        union
        select (c.request ->> 'toAccountId')::uuid from unnest(v_claimed) c)
      order by id for no key update;

      foreach v_record in array v_claimed loop
        v_outcomes := v_outcomes || apply_transfer(v_record, p_ttl_seconds);
      end loop;
      return query select * from finish_records(v_outcomes, p_actor);
    end $$`.execute(db);
}
