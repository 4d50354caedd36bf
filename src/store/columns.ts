import type { ColumnType } from 'kysely';

/** A jsonb column: read parsed, written as JSON text. */
export type Json<T> = ColumnType<T, string, string>;
export type NullableJson<T> = ColumnType<T | null, string | null | undefined, string | null>;

/** A timestamptz column with a default of now(). */
export type Instant = ColumnType<Date, Date | undefined, Date>;
export type NullableInstant = ColumnType<Date | null, Date | null | undefined, Date | null>;
