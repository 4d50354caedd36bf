import { serve } from '@hono/node-server';
import { Hono } from 'hono';

// What Hono costs by itself: the body is parsed and sent back, and nothing else happens.

const app = new Hono();
app.post('/', async (c) => c.json(await c.req.json()));

serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' }, () => process.send?.('ready'));
process.on('disconnect', () => process.exit());
