import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import test from 'node:test'
import { fileURLToPath } from 'node:url'

import { Understudy, UnderstudyError } from '@understudy/client'

const fails = (code, message) => error =>
  error instanceof UnderstudyError && error.code === code && (message === undefined || message.test(error.message))

test('a daemon is started, found, and stopped', async () => {
  const understudy = await Understudy.start()
  assert.match(understudy.url, /^http:\/\/127\.0\.0\.1:\d+$/)
  const description = JSON.parse(await readFile(new URL('../package.json', import.meta.url)))
  assert.equal(understudy.version, description.version)
  const same = await Understudy.connect(`${understudy.url}/`)
  await same.world('w').accounts.add({ id: 'max' })
  assert.equal((await understudy.world('w').accounts.get('max')).id, 'max')
  assert.deepEqual((await understudy.worlds()).map(world => world.name).sort(), ['default', 'w'])
  // `stop` of an object that only connected doesn't end the daemon.
  await same.stop()
  assert.equal((await Understudy.connect(understudy.url)).version, understudy.version)
  await understudy.stop()
  await understudy.stop()
  await assert.rejects(understudy.worlds(), fails('unreachable', new RegExp(understudy.url)))
  await assert.rejects(Understudy.connect(understudy.url), fails('unreachable', /Is it started/))
})

test('seeds are values, files and folders', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'understudy-test-'))
  try {
    await writeFile(join(folder, 'people.json'), '{"accounts": [{"id": "zoe"}]}')
    const understudy = await Understudy.start({ seed: [folder, { accounts: [{ id: 'max', email: 'max@example.org' }] }] })
    assert.deepEqual((await understudy.world('w').accounts.list()).map(one => one.id), ['zoe', 'max'])
    await understudy.stop()
  } finally { await rm(folder, { recursive: true }) }
})

test('what keeps it from starting is told', async () => {
  await assert.rejects(Understudy.start({ seed: { acounts: [] } }), fails('notStarted', /did you mean "accounts"/))
  await assert.rejects(Understudy.start({ arguments: ['--unknown'] }), fails('notStarted', /--unknown/))
  await assert.rejects(Understudy.start({ seeds: 'seed.json' }), fails('notStarted', /no option "seeds": expected binary, seed,/))
  await assert.rejects(Understudy.start({ binary: '/nowhere/understudy' }), fails('notStarted', /UNDERSTUDY_BINARY/))
})

test('options and variables of serve', async () => {
  const understudy = await Understudy.start({
    arguments: ['--scenario', 'cancelled-sign-in'], environment: { UNDERSTUDY_LOG_LEVEL: 'debug' } })
  const scenarios = await understudy.world('w').scenarios.list()
  assert.deepEqual(scenarios.filter(one => one.played).map(one => one.name), ['cancelled-sign-in'])
  assert.match(understudy.log, /./)
  await understudy.stop()
})

test('a control token', async () => {
  const token = 'a-token-of-sixteen-or-more'
  const understudy = await Understudy.start({ controlToken: token })
  await understudy.world('w').reset()
  assert.equal((await understudy.world('w').environment()).UNDERSTUDY_CONTROL_TOKEN, token)
  const stranger = await Understudy.connect(understudy.url)
  await assert.rejects(stranger.world('w').reset(), error => error instanceof UnderstudyError && error.status === 401)
  for (const given of [['--control-token', token], [`--control-token=${token}`]]) {
    const another = await Understudy.start({ arguments: given })
    await another.world('w').reset()
    await another.stop()
  }
  for (const wrong of ['a\nb', 'ü', ' ']) {
    await assert.rejects(Understudy.connect(understudy.url, { controlToken: wrong }), error => error.code === 'invalidToken' && !error.message.includes(wrong.trim() || '\0'))
  }
  process.env.UNDERSTUDY_CONTROL_TOKEN = token
  try { await (await Understudy.connect(understudy.url)).world('w').reset() } finally {
    delete process.env.UNDERSTUDY_CONTROL_TOKEN
  }
  const folder = await mkdtemp(join(tmpdir(), 'understudy-test-'))
  await writeFile(join(folder, 'token'), `${token}\n`)
  process.env.UNDERSTUDY_CONTROL_TOKEN_FILE = join(folder, 'token')
  try { await (await Understudy.connect(understudy.url)).world('w').reset() } finally {
    delete process.env.UNDERSTUDY_CONTROL_TOKEN_FILE
    await rm(folder, { recursive: true })
  }
  await understudy.stop()
})

test('the daemon at UNDERSTUDY_URL, or one of one\'s own', async () => {
  const understudy = await Understudy.startOrConnect()
  process.env.UNDERSTUDY_URL = understudy.url
  try {
    for (const found of [await Understudy.startOrConnect(), await Understudy.connect()]) {
      assert.equal(found.url, understudy.url)
      await found.stop()
    }
  } finally { delete process.env.UNDERSTUDY_URL }
  assert.equal((await understudy.worlds()).length, 1)
  await understudy.stop()
})

test('addresses', async () => {
  const understudy = await Understudy.start()
  const host = new URL(understudy.url).host
  assert.equal((await Understudy.connect(` ${understudy.url}//\n`)).url, understudy.url)
  assert.equal((await Understudy.connect(`${understudy.url}/~w/`)).world().url, `${understudy.url}/~w`)
  const ends = ['/a', '/~w/b', '/~a b', '/~', '?a', '/#a', '/~w?a']
  for (const wrong of [...ends.map(end => understudy.url + end), 'http://', 'http://localhost:99999', 'file:///etc', host, `http://user:word@${host}`]) {
    await assert.rejects(Understudy.connect(wrong), fails('invalidURL', /isn't a daemon's address/), wrong)
  }
  await understudy.stop()
})

test('recordings of all worlds are forgotten', async () => {
  const understudy = await Understudy.start()
  for (const name of ['one', 'two']) await fetch(`${understudy.world(name).hostURL('api.github.com')}/user`)
  await understudy.forgetRequests('on*')
  assert.deepEqual((await understudy.requests()).map(one => one.world), ['two'])
  await understudy.forgetRequests()
  assert.deepEqual(await understudy.requests(), [])
  assert.equal((await understudy.health()).status, 'ok')
  await understudy.stop()
})

test('something else answers', async () => {
  const { createServer } = await import('node:http')
  const server = createServer((request, answer) => { answer.statusCode = 404; answer.end('<h1>Not here</h1>') }).listen(0)
  await once(server, 'listening')
  await assert.rejects(Understudy.connect(`http://127.0.0.1:${server.address().port}`), fails('unexpectedAnswer', /Not here/))
  server.closeAllConnections?.()
  server.close()
})

for (const signal of ['SIGKILL', 'SIGTERM', 'SIGINT', undefined]) {
  test(`the daemon ends with a process ${signal ? `that gets ${signal}` : 'that forgets it'}`, async () => {
    const program = `
      import { Understudy } from '@understudy/client'
      const understudy = await Understudy.start()
      await understudy.world('w').reset()
      console.log(understudy.url)
      ${signal ? 'setInterval(() => {}, 1000)' : ''}`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: ['ignore', 'pipe', 'inherit'], cwd: fileURLToPath(new URL('.', import.meta.url)) })
    const ended = once(child, 'exit')
    const [url] = await once(createInterface({ input: child.stdout }), 'line')
    if (signal) child.kill(signal)
    const [code, by] = await ended
    assert.equal(signal ? by : code, signal ?? 0)
    await gone(url)
  })
}

/// Waits until nothing answers at the URL. It may take the daemon two seconds to end.
async function gone(url) {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    try { await fetch(`${url}/_understudy/v1/health`) } catch { return }
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  assert.fail(`${url} still answers`)
}
