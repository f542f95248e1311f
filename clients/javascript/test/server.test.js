// The package against a real server: ORLOP_BIN names it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';

import { ApiError, StartError, TestServer, findServer } from '../index.js';

const WIDGETS = new URL('widgets.yaml', import.meta.url).pathname;
const WIDGETS_PATH = '/apis/example.com/v1/namespaces/default/widgets';
let server;
let scratch;

before(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'orlop-test-'));
  server = await TestServer.start({ crds: [WIDGETS] });
});

after(async () => {
  await server.stop();
  rmSync(scratch, { recursive: true });
});

async function becomes(description, condition) {
  const deadline = Date.now() + 10_000;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, description);
    await pause(20);
  }
}

const isGone = (path) =>
  server.request('GET', path).then(
    () => false,
    (error) => error.status === 404,
  );

test('a namespace ends with its objects', async () => {
  const path = `/api/v1/namespaces/${await server.createNamespace()}`;
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'first' }, data: { key: 'value' } };
  await server.request('POST', `${path}/configmaps`, map);
  await server.request('DELETE', path);
  await becomes('the namespace is gone', () => isGone(path));
  assert.ok(await isGone(`${path}/configmaps/first`));
});

test('definitions are served when the server has started with them', async () => {
  const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' }, spec: { size: 0 } };
  await assert.rejects(server.request('POST', WIDGETS_PATH, widget), (error) => {
    assert.ok(error instanceof ApiError);
    assert.equal(error.status, 422);
    assert.match(error.message, /spec.size in body should be greater than or equal to 1/);
    return true;
  });
  widget.spec.size = 1;
  const created = await server.request('POST', WIDGETS_PATH, widget);
  assert.deepEqual(created.spec, { size: 1 });
});

test('a file without definitions is an error', async () => {
  const other = join(scratch, 'other.yaml');
  writeFileSync(other, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n');
  await assert.rejects(server.createCrds([other]), /contains no CustomResourceDefinition/);
  await assert.rejects(server.createCrds([join(scratch, 'absent.yaml')]), /no such file/);
});

test('a user has a kubeconfig of their own', async () => {
  const config = await server.kubeconfig('jane', ['devs']);
  assert.equal(config.contexts[0].context.user, 'jane');
  assert.equal(config.clusters[0].cluster.server, server.url);
});

test('servers in parallel are separate', async () => {
  const secret = (name) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name } });
  const count = async (number) => {
    const own = await TestServer.start();
    const path = '/api/v1/namespaces/default/secrets';
    for (let index = 0; index < number; index++) {
      await own.request('POST', path, secret(`s${index}`));
    }
    const listed = await own.request('GET', path);
    await own.stop();
    return listed.items.length;
  };
  assert.deepEqual(await Promise.all([0, 1, 2, 3].map(count)), [0, 1, 2, 3]);
});

test('a server that has been stopped leaves nothing', async () => {
  const own = await TestServer.start();
  assert.ok(existsSync(own.directory));
  await own.stop();
  await own.stop();
  assert.ok(!existsSync(own.directory));
});

test('a wrong flag is an error with the message of the server', async () => {
  await assert.rejects(TestServer.start({ flags: ['--no-such-flag'] }), (error) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, /--no-such-flag/);
    return true;
  });
});

test('a program that is not there is an error', async () => {
  const present = process.env.ORLOP_BIN;
  process.env.ORLOP_BIN = '/nonexistent/apiserver';
  try {
    assert.throws(findServer, /ORLOP_BIN=\/nonexistent\/apiserver/);
  } finally {
    if (present === undefined) {
      delete process.env.ORLOP_BIN;
    } else {
      process.env.ORLOP_BIN = present;
    }
  }
  await assert.rejects(TestServer.start({ server: '/nonexistent/apiserver' }), StartError);
});

test('a server that hangs is ended', async () => {
  const hanging = join(scratch, 'apiserver');
  writeFileSync(hanging, '#!/bin/sh\nexec sleep 1000\n', { mode: 0o755 });
  const started = TestServer.start({ server: hanging, startTimeoutMilliseconds: 200 });
  await assert.rejects(started, /was not ready: it ended with SIGKILL/);
});

test('nothing is left when the test process is killed, and it ends by itself', async () => {
  const index = new URL('../index.js', import.meta.url).href;
  const start = `const { TestServer } = await import('${index}');
    const server = await TestServer.start();
    console.log(server.directory);`;
  for (const [rest, signal] of [['setInterval(() => {}, 1000);', 'SIGKILL'], ['', null]]) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', `${start}${rest}`]);
    const closed = once(child, 'close');
    const directory = String((await once(child.stdout, 'data'))[0]).trim();
    if (signal) {
      child.kill(signal);
    }
    assert.equal((await closed)[1], signal);
    await becomes('the directory is removed', () => !existsSync(directory));
  }
});
