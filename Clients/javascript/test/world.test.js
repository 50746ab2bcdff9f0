import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import test from 'node:test'

import { AppleAuthorizationError, noncePair, Understudy, UnderstudyError, VerificationError, worldName } from '@understudy/client'
import { authorizeURL, daemon } from './support.js'

const understudy = await daemon()
let made = 0
const fresh = () => understudy.world(`w${made += 1}`)

test('names and addresses', async () => {
  const world = understudy.world('Shop_1.x')
  assert.equal(world.name, 'Shop_1.x')
  assert.equal(world.url, `${understudy.url}/~Shop_1.x`)
  assert.equal(world.controlURL, `${world.url}/_understudy/v1`)
  assert.equal(world.hostURL('github.com'), `${world.url}/github.com`)
  assert.equal(understudy.world('a test > with a title').name, worldName('a test > with a title'))
  for (const unnamed of [understudy.world(), understudy.world('default')]) {
    assert.deepEqual([unnamed.name, unnamed.url], ['default', understudy.url])
    assert.equal((await unnamed.call('GET', '')).world, 'default')
  }
})

test('scripts of a page lead to the world', async () => {
  const world = fresh()
  let pattern, lead
  await world.routeScripts({ async route(...given) { [pattern, lead] = given } })
  for (const [script, host] of [
    ['accounts.google.com/gsi/client', 'accounts.google.com'],
    ['appleid.cdn-apple.com/appleauth/static/jsapi/appleid/1/de_DE/appleid.auth.js', 'appleid.apple.com'],
    ['connect.facebook.net/de_DE/sdk.js', 'www.facebook.com']
  ]) {
    let fulfilled
    assert.match(`https://${script}`, pattern)
    await lead({
      request: () => ({ url: () => `https://${script}` }), fetch: async ({ url }) => (await fetch(url)).text(),
      async fulfill({ response }) { fulfilled = response } })
    assert.ok(fulfilled.includes(`("${world.hostURL(host)}"`))
  }
  assert.doesNotMatch('https://accounts.google.com/o/oauth2/v2/auth', pattern)
})

test('worldName is understudy world-name', () => {
  const texts = [
    'checkout', 'Checkout', 'default', '', 'tests/test_login.py::test_google[chrome]', '  x  ', 'ä', 'İstanbul K',
    'a'.repeat(63), 'a'.repeat(64), `${'long '.repeat(20)}end`, '日本', 'x\ny', '-x-'
  ]
  for (const text of texts) {
    const made = execFileSync(process.env.UNDERSTUDY_BINARY, ['world-name', '--', text], { encoding: 'utf8' }).trim()
    assert.equal(worldName(text), made, JSON.stringify(text))
  }
})

test('a nonce pair', () => {
  // This is the example of docs/commands.md.
  assert.equal(noncePair('n-0S6_WzA2Mj').sha256, '0823a09b54cb9381561068b00aaf4e539b3f54604631d3e6a820879b6b04cc19')
  const [one, two] = [noncePair(), noncePair()]
  assert.notEqual(one.raw, two.raw)
  assert.equal(noncePair(one.raw).sha256, one.sha256)
  assert.match(one.raw, /^[\w-]{32}$/)
})

test('orders: who signs in, and how it ends', async () => {
  const world = fresh()
  await world.order('github', 'approve', { account: 'grace' })
  assert.ok((await world.follow(authorizeURL(world))).fields.code)

  const order = await world.order('github', 'cancel', { times: Infinity })
  assert.equal(order.times, null)
  for (let count = 0; count < 2; count += 1) {
    assert.equal((await world.follow(authorizeURL(world))).fields.error, 'access_denied')
  }
  assert.deepEqual((await world.outcomes()).map(one => ({ ...one })), [{ ...order }])
  const twice = await world.order('apple', 'error', { error: 'failed', client: 'com.example.app', times: 2 })
  assert.equal(await order.remove(), true)
  assert.equal(await order.remove(), false)
  assert.deepEqual((await world.outcomes()).map(one => one.id), [twice.id])
  await world.removeOutcomes()
  assert.deepEqual(await world.outcomes(), [])
})

test('where a browser can\'t go', async () => {
  const world = fresh()
  await assert.rejects(world.follow(authorizeURL(world)), error => error.code === 'page' && error.message.includes('world.order("github", "approve"'))
  await assert.rejects(world.follow('https://8.8.8.8/o/oauth2/v2/auth'), error =>
    error.code === 'realProvider' && error.message.includes(`leads to the real 8.8.8.8, not to ${world.url}/8.8.8.8`))
  // These names have no address, so that the test needs no network.
  for (const host of ['appleid.apple.com.invalid', 'nobody.invalid']) {
    await assert.rejects(world.follow(`https://${host}/x`), { code: 'unreachable' })
  }
  await world.seed({ openid: { issuers: [{ id: 'lost', issuer: 'https://login.lost.invalid' }] } })
  await assert.rejects(world.follow('https://login.lost.invalid/authorize'), { code: 'realProvider' })
  await world.order('github', 'approve', { client: 'Iv23liGitHubApp00001' })
  await assert.rejects(world.follow(authorizeURL(world)), /no outcome that waits is for this sign-in, which Iv1\.0123456789abcdef has begun: outcome-1, approve at github for client Iv23liGitHubApp00001$/)
  await world.removeOutcomes()
  await assert.rejects(world.follow('http://127.0.0.1:1/'), { code: 'unreachable' })
  await assert.rejects(world.follow('/login'), { code: 'invalidURL' })
  await world.order('github', 'approve')
  const { url, path } = await world.follow(authorizeURL(world))
  assert.equal(`http://localhost:3000${path}`, url)
})

test('a world is disposed of', async () => {
  const world = fresh()
  await world.accounts.add({ id: 'max' })
  await world[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]()
  assert.ok(!(await understudy.worlds()).some(one => one.name === world.name))
})

test('orders that can\'t be are refused with the place', async () => {
  const world = fresh()
  await assert.rejects(world.order('apple', 'cancel', { times: 0 }), error =>
    error instanceof UnderstudyError && error.code === 'invalidBody' && error.call === 'POST outcomes' && error.path === '$.times' && error.status === 400
      && /^\$\.times: /.test(error.message) && error.answer.error.path === '$.times')
  await assert.rejects(world.order('apple', 'approve', { account: 'nobody' }), { code: 'noSuchAccount', path: '$.account' })
  await assert.rejects(world.call('POST', 'outcomes', { provider: 'x', outcom: 'cancel' }), error =>
    /^\$\.provider: /.test(error.message) && /\n\$: .*"outcome" is missing/.test(error.message) && /\n.*"outcom"/.test(error.message))
})

test('a fault changes members of an answer, which is a note', async () => {
  const world = fresh()
  await world.fault({ path: '/auth/keys', response: { keys: null, more: 1 } })
  assert.deepEqual(await (await fetch(`${world.hostURL('appleid.apple.com')}/auth/keys`)).json(), { more: 1 })
  const [exchange] = await world.requests()
  assert.match(exchange.note, /fault-1/)
  assert.equal(exchange.diagnosis, undefined)
})

test('an exchange says from where the provider\'s answer is known', async () => {
  const world = fresh()
  await fetch(`${world.hostURL('appleid.apple.com')}/auth/keys`)
  const [exchange] = await world.requests()
  assert.equal(exchange.evidence.kind, 'documented')
  assert.match(exchange.evidence.source, /^https:\/\/developer\.apple\.com\//)
})

test('faults: where, how often, and what', async () => {
  const world = fresh()
  const keys = () => fetch(`${world.hostURL('appleid.apple.com')}/auth/keys`)
  const fault = await world.fault({
    host: 'appleid.apple.com', path: '/auth/keys', status: 503, headers: { 'X-Test': 'yes' }, body: 'later', delay: 20,
    after: 1, times: 2 })
  assert.deepEqual(fault.match, { host: 'appleid.apple.com', path: '/auth/keys' })
  assert.equal(fault.effect.delay, '20ms')
  const statuses = []
  for (let count = 0; count < 4; count += 1) statuses.push((await keys()).status)
  assert.deepEqual(statuses, [200, 503, 503, 200])
  assert.deepEqual(await world.faults(), [])
  const answered = (await world.requests({ status: '5xx' }))[0]
  assert.equal(answered.response.body, 'later')
  assert.match(answered.fault, /503/)

  const forever = await world.fault({ host: 'github.com', path: '/login/oauth/access_token', error: 'bad_verification_code', times: Infinity })
  assert.equal(forever.times, null)
  assert.equal(await forever.remove(), true)
  await world.fault({ path: '/token', token: { claims: { exp: '-1h' } } })
  assert.equal((await world.faults()).length, 1)
  await world.removeFaults()
  assert.deepEqual(await world.faults(), [])
  await assert.rejects(world.fault({ host: 'appleid.apple.com', path: '/auth/keys', error: 'x' }), { code: 'invalidBody' })
})

test('the clock', async () => {
  const world = fresh()
  const begin = await world.clock.now()
  assert.ok(Math.abs(begin - Date.now()) < 60_000)
  assert.ok(await world.clock.advance('6m') - begin >= 360_000)
  assert.ok(await world.clock.advance(-360_000) - begin < 60_000)
  const set = new Date('2030-01-01T00:00:00Z')
  assert.deepEqual(await world.clock.freeze(set), set)
  assert.ok(await world.clock.isFrozen())
  assert.deepEqual(await world.clock.now(), set)
  assert.deepEqual(await world.clock.advance(1500), new Date('2030-01-01T00:00:01.500Z'))
  assert.deepEqual(await world.clock.set(new Date('2029-12-31T23:59:59.123Z')), new Date('2029-12-31T23:59:59.123Z'))
  assert.deepEqual(await world.clock.set('2031-01-01T00:00:00Z'), new Date('2031-01-01T00:00:00Z'))
  await world.clock.unfreeze()
  assert.equal(await world.clock.isFrozen(), false)
  await world.clock.freeze()
  assert.ok(Math.abs(await world.clock.reset() - Date.now()) < 60_000)
  assert.equal(await world.clock.isFrozen(), false)
  await assert.rejects(world.clock.advance('6 minutes'), { code: 'invalidBody', path: '$.advance' })
})

test('the recording, page by page', async () => {
  const world = fresh()
  for (let count = 0; count < 5; count += 1) await fetch(`${world.hostURL('api.github.com')}/user?n=${count}`, { headers: { 'user-agent': 'x' } })
  await fetch(`${world.hostURL('appleid.apple.com')}/auth/keys`)
  const all = await world.requests()
  assert.equal(all.length, 6)
  assert.deepEqual((await world.requests({ limit: 2 })).map(one => one.id), all.slice(-2).map(one => one.id))
  assert.deepEqual((await world.requests({ after: all[1].id, limit: 2 })).map(one => one.id), all.slice(2, 4).map(one => one.id))
  const refused = await world.requests({ refused: true, host: 'api.github.com', status: 401 })
  assert.equal(refused.length, 5)
  assert.equal((await world.request(all[0].id)).request.target, all[0].request.target)
  assert.deepEqual(await world.refusals(), refused)
  assert.match(refused[0].diagnosis, /^Authorization is missing/)
  assert.equal((await world.har()).log.entries.length, 6)
  assert.equal((await understudy.requests({ world: world.name })).length, 6)

  const waiting = world.requests({ after: all[5].id, path: '/auth/keys', wait: '20s', count: 2 })
  for (let count = 0; count < 2; count += 1) await fetch(`${world.hostURL('appleid.apple.com')}/auth/keys`)
  assert.equal((await waiting).length, 2)
  assert.deepEqual(await world.requests({ path: '/nowhere', wait: 50 }), [])
  await world.forgetRequests()
  assert.deepEqual(await world.requests(), [])
  await assert.rejects(world.request(all[0].id), { code: 'noSuchRequest', status: 404 })
})

test('sign-ins as values', async () => {
  const world = fresh()
  await fetch(`${world.hostURL('api.github.com')}/user`, { headers: { 'user-agent': 'x' } })
  await fetch(`${world.hostURL('appleid.apple.com')}/auth/keys`)
  const [failed] = await world.signIns({ refused: true, wait: '20s' })
  assert.equal(failed.ending, 'refused')
  assert.deepEqual(failed.providers, ['github'])
  assert.match(failed.diagnosis, /^Authorization is missing/)
  assert.equal(failed.stoppedBy, failed.steps.at(-1).id)
  assert.deepEqual(await world.signIn(failed.steps[0].id), failed)
  assert.equal((await world.signIns({ all: true })).length, 2)
  assert.deepEqual(await world.signIns({ provider: 'apple' }), [])
  await assert.rejects(world.signIn('r0'), { code: 'noSuchFlow', status: 404 })
})

test('a recording of more than one page', async () => {
  const world = fresh()
  await world.fault({ path: '/auth/keys', status: 200, body: 'x'.repeat(250_000), times: 20 })
  for (let count = 0; count < 20; count += 1) await (await fetch(`${world.hostURL('appleid.apple.com')}/auth/keys`)).text()
  assert.ok((await world.call('GET', 'requests')).more)
  const all = await world.requests()
  assert.deepEqual([all.length, new Set(all.map(one => one.id)).size], [20, 20])
  const { log } = await world.har()
  assert.deepEqual([log.entries.length, log.comment], [20, undefined])
  assert.deepEqual((await world.requests({ limit: 15 })).map(one => one.id), all.slice(-15).map(one => one.id))
})

test('verify, and what came instead', async () => {
  const world = fresh()
  await assert.rejects(world.verify({ path: '/auth/token' }), error => /no request came/.test(error.message))
  await fetch(`${world.hostURL('appleid.apple.com')}/auth/keys`)
  await fetch(`${world.hostURL('api.github.com')}/user`, { headers: { 'user-agent': 'x' } })
  const [met] = await world.verify({ host: 'appleid.apple.com', path: '/auth/keys', times: 1 })
  assert.equal(met.found, 1)
  assert.equal((await world.verify([{ path: '/auth/keys' }, { path: '/auth/token', atMost: 0 }])).length, 2)
  await assert.rejects(world.verify([{ path: '/auth/keys' }, { path: '/auth/token', fields: { grant_type: 'refresh_token' } }]), error => {
    assert.ok(error instanceof VerificationError && error instanceof UnderstudyError)
    assert.equal(error.expectations.length, 2)
    assert.match(error.message, /^expected at least 1 of .*"\/auth\/token".*found 0\n {2}nearest: r\d+ GET api\.github\.com\/user 401: /)
    assert.match(error.message, /\n {4}path: expected \/auth\/token, was \/auth\/keys\n/)
    assert.match(error.message, /\nwhat came \(2\):\n.*\n {2}r\d+ GET api\.github\.com\/user 401: Authorization is missing/)
    return true
  })
  await assert.rejects(world.verify({ pth: '/x' }), { code: 'invalidBody', path: '$.pth' })
})

test('seeds', async () => {
  const world = fresh()
  await world.accounts.add({ id: 'zoe' })
  await world.seed({ accounts: [{ id: 'max', email: 'max@example.org' }] })
  assert.equal((await world.accounts.get('max')).email, 'max@example.org')
  assert.equal((await world.accounts.get('zoe')).id, 'zoe')
  assert.ok((await world.currentSeed()).accounts.some(one => one.id === 'max'))
  await world.replaceSeed({ accounts: [{ id: 'eva' }] })
  assert.deepEqual((await world.accounts.list()).map(one => one.id), ['eva'])
  await assert.rejects(world.seed({ acounts: [] }), { code: 'invalidBody', path: '$.acounts' })
})

test('people', async () => {
  const world = fresh()
  const known = (await world.accounts.list()).length
  await world.accounts.add({ id: 'max', email: 'max@example.org', emailVerified: false })
  await world.accounts.change('max', { name: { given: 'Max' } })
  assert.equal((await world.accounts.get('max')).name.given, 'Max')
  assert.equal((await world.accounts.list()).length, known + 1)
  assert.deepEqual((await world.accounts.list({ after: 'ada', limit: 1 })).map(one => one.id), ['grace'])
  await world.accounts.remove('max')
  await assert.rejects(world.accounts.get('max'), { code: 'noSuchAccount', status: 404 })
  await assert.rejects(world.accounts.add({ id: 'ada' }), { code: 'accountExists', status: 409 })
})

test('tokens, whole and broken', async () => {
  const world = fresh()
  const { token, header, claims } = await world.tokens.mint({
    provider: 'apple', client: 'com.example.app', account: 'ada', nonce: 'n', claims: { exp: '-1h' } })
  assert.equal(token.split('.').length, 3)
  assert.equal(header.alg, 'RS256')
  assert.equal(claims.nonce, 'n')
  assert.ok(claims.exp * 1000 < Date.now())
  assert.equal((await world.explain(token, { rawNonce: 'x' })).sound, false)
  const { accessToken } = await world.google.authorize({ client: 'example.apps.googleusercontent.com', account: 'ada' })
  assert.equal((await world.tokens.revoke(accessToken)).provider, 'google')
  await assert.rejects(world.tokens.revoke(accessToken), { code: 'noSuchToken', status: 404 })
})

test('scenarios', async () => {
  const world = fresh()
  const { advice } = await world.scenarios.play('provider-outage', { host: 'api.github.com' })
  assert.match(advice, /Retry/)
  assert.equal((await fetch(`${world.hostURL('api.github.com')}/user`)).status, 503)
  assert.ok((await world.scenarios.list()).find(one => one.name === 'provider-outage').played)
  assert.equal(await world.scenarios.end('provider-outage'), true)
  assert.equal(await world.scenarios.end('provider-outage'), false)
  await assert.rejects(world.scenarios.play('outage'), { code: 'noSuchScenario' })
})

test('snapshots go from one world to another', async () => {
  const [one, other] = [fresh(), fresh()]
  await one.accounts.add({ id: 'max' })
  const { user } = await one.apple.authorize({ client: 'com.example.app', account: 'max' })
  await other.restore(await one.snapshot())
  assert.equal((await other.accounts.get('max')).id, 'max')
  assert.equal(await other.apple.credentialState({ client: 'com.example.app', user }), 'authorized')
  await assert.rejects(other.restore('{}'), { code: 'invalidSnapshot' })
})

test('reset and delete', async () => {
  const world = fresh()
  await world.accounts.add({ id: 'max' })
  await world.reset()
  await assert.rejects(world.accounts.get('max'), { code: 'noSuchAccount' })
  await world.delete()
  assert.ok(!(await understudy.worlds()).some(one => one.name === world.name))
  await world.delete()
  await understudy.world().accounts.add({ id: 'max' })
  await understudy.world().delete()
  await assert.rejects(understudy.world().accounts.get('max'), { code: 'noSuchAccount' })
})

test('ports of a world\'s own: Firebase\'s, mail\'s, and the variables of exec', async () => {
  const world = fresh()
  await world.accounts.add({ id: 'max' })
  const host = await world.firebaseEmulatorHost()
  assert.match(host, /^127\.0\.0\.1:\d+$/)
  assert.equal(await world.firebaseEmulatorHost(), host)
  assert.equal((await (await fetch(`http://${host}/_understudy/v1`)).json()).world, world.name)
  assert.equal(await understudy.world().firebaseEmulatorHost(), new URL(understudy.url).host)
  assert.ok((await understudy.world().smtp()).port > 0)

  const environment = await world.environment()
  assert.equal((await (await fetch(`${environment.UNDERSTUDY_CONTROL_URL}/accounts/max`)).json()).id, 'max')
  const mask = (text, url, host, port) => text.replaceAll(url, 'URL').replaceAll(host, 'HOST').replace(`=${port}`, '=PORT')
  const variables = execFileSync(process.env.UNDERSTUDY_BINARY, ['exec', '--', 'env'], {
    encoding: 'utf8', env: { PATH: process.env.PATH, HOME: process.env.HOME ?? '/', PWD: '/' } })
  const values = variables.split('\n').filter(line => line && !/^(PATH|HOME|PWD|SHLVL|_)=/.test(line))
  const get = name => values.find(line => line.startsWith(`${name}=`)).slice(name.length + 1)
  const theirs = values.map(line => mask(line, get('UNDERSTUDY_URL'), get('FIREBASE_AUTH_EMULATOR_HOST'), get('UNDERSTUDY_SMTP_PORT')))
  const ours = Object.entries(environment).map(([name, value]) =>
    mask(`${name}=${value}`, world.url, host, environment.UNDERSTUDY_SMTP_PORT))
  assert.deepEqual(ours.sort(), theirs.sort())
})

test('an address in a world, and a world\'s own port, as the daemon\'s', async () => {
  const world = fresh()
  await world.accounts.add({ id: 'max' })
  for (const url of [world.url, `${world.url}/`, await world.portURL()]) {
    const there = await Understudy.connect(url)
    assert.equal((await there.world().accounts.get('max')).id, 'max', url)
    assert.equal(await there.world().firebaseEmulatorHost(), await world.firebaseEmulatorHost())
    assert.deepEqual(await there.world().smtp(), await world.smtp())
  }
  const there = await Understudy.connect(world.url)
  assert.deepEqual([there.url, there.world().name, there.world('default').url], [understudy.url, world.name, understudy.url])
})

test('a daemon that takes no mail', async () => {
  const silent = spawn(process.env.UNDERSTUDY_BINARY, ['serve', '--port', '0'], { stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    const [line] = await once(createInterface({ input: silent.stdout }), 'line')
    const world = (await Understudy.connect(line.split(' ').at(-1))).world('w')
    await assert.rejects(world.smtp(), { code: 'noSMTP' })
    assert.equal((await world.environment()).UNDERSTUDY_SMTP_HOST, undefined)
  } finally { silent.kill() }
})

test('a browser\'s way through a sign-in', async () => {
  const world = fresh()
  const apple = `${world.hostURL('appleid.apple.com')}/auth/authorize?` + new URLSearchParams({
    client_id: 'com.example.web', redirect_uri: 'https://example.com/callback', response_type: 'code', scope: 'email',
    response_mode: 'form_post', state: `<"s'&amp;>` })
  await assert.rejects(world.follow(apple), error => error.code === 'page' && /Order what they do/.test(error.message))
  await world.order('apple', 'approve', { account: 'ada' })
  const posted = await world.follow(apple)
  assert.deepEqual([posted.method, posted.url, posted.form.state], ['POST', 'https://example.com/callback', `<"s'&amp;>`])
  assert.equal(JSON.parse(posted.fields.user).email, 'ada@example.com')
  await world.order('github', 'cancel')
  const back = await world.follow(authorizeURL(world))
  assert.deepEqual([back.method, back.form, back.fields.error, back.fields.state], ['GET', {}, 'access_denied', 's'])
  await assert.rejects(world.follow(`${authorizeURL(world)}&client_id=x`), error => error.code === 'page' && /client_id/.test(error.message))
})

test('AppleAuthorizationError has Apple\'s codes', async () => {
  const world = fresh()
  for (const [name, code] of Object.entries(AppleAuthorizationError).filter(([, value]) => typeof value === 'number')) {
    await world.order('apple', 'error', { error: name })
    await assert.rejects(world.apple.authorize({ client: 'com.example.app' }), error =>
      error instanceof AppleAuthorizationError && error.code === code && error.codeName === name
        && error.domain === 'com.apple.AuthenticationServices.AuthorizationError' && error.status === 409)
  }
})
