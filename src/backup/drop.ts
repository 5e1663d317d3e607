import { databaseRefusal } from "../database/refusals.ts";

/** What the migrations make; what belongs to extensions stays. */
const drop = `DO $$
DECLARE one record;
BEGIN
  FOR one IN SELECT format('DROP TABLE IF EXISTS %I.%I CASCADE', schemaname, tablename) AS command FROM pg_tables WHERE schemaname = current_schema()
  LOOP EXECUTE one.command; END LOOP;
  FOR one IN SELECT format('DROP ROUTINE IF EXISTS %s CASCADE', p.oid::regprocedure) AS command FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
  LOOP EXECUTE one.command; END LOOP;
END $$`;

/** Empty a PostgreSQL database that a restore has begun to fill. */
export async function dropEverything(url: string): Promise<void> {
  const { Client } = await import("pg");
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query(drop);
  } catch (error) {
    throw databaseRefusal(url, error);
  } finally {
    await client.end();
  }
}
