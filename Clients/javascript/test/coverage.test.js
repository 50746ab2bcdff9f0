// This test checks that every call of the control API has a method. It compares the calls that the daemon lists with
// those that the methods make.
import assert from 'node:assert/strict'
import test from 'node:test'

import { Understudy } from '@understudy/client'
import { daemon } from './support.js'

const real = await daemon()
const listed = (await real.world().call('GET', '')).calls.map(({ method, url }) => `${method} ${new URL(url).pathname.slice('/_understudy/v1/'.length)}`)

/// An answer that every method can read.
const answer = {
  accounts: [], endpoints: [], expectations: [], faults: [], flows: [], log: { entries: [] }, messages: [], milliseconds: 0, outcomes: [],
  requests: [], scenarios: [], smtp: 'localhost:25', state: '', version: '', url: 'http://localhost:1', withdrawn: true, worlds: []
}

/// The calls that the methods make. IDs in them are written as the daemon lists them.
async function made(run) {
  const calls = new Set()
  const { fetch } = globalThis
  globalThis.fetch = async (url, { method }) => {
    const path = decodeURIComponent(new URL(url).pathname).replace(/^.*\/_understudy\/v1\/?/, '')
    calls.add(`${method} ${path.replace(/\b(accounts|outcomes|faults|flows|requests|mail)\/ID/, '$1/:id').replace(/(worlds|scenarios)\/ID/, '$1/:name').replace('clients/ID', 'clients/:client').replace(/attachments\/1$/, 'attachments/:number')}`)
    return new Response(JSON.stringify({ ...answer, id: 'ID' }))
  }
  try { await run() } finally { globalThis.fetch = fetch }
  return calls
}

test('every call has a method', async () => {
  const calls = await made(async () => {
    const understudy = await Understudy.connect('http://localhost:1')
    const world = understudy.world('ID')
    const { accounts, apple, clock, facebook, github, google, microsoft, openID, scenarios, tokens } = world
    const all = [
      understudy.worlds(), understudy.health(), world.reset(), world.currentSeed(), world.replaceSeed({}), world.seed({}), world.snapshot(),
      world.restore('{}'), clock.now(), clock.reset(), world.order('apple', 'cancel'), world.outcomes(), world.removeOutcomes(), world.removeFaults(),
      world.fault({ status: 503 }), world.faults(), world.endpoints(), world.requests(), world.request('ID'), world.signIns(), world.signIn('ID'),
      world.forgetRequests(), world.verify({}), world.portURL(), world.delete(), scenarios.list(), scenarios.play('ID'),
      scenarios.end('ID'), scenarios.get('ID'), tokens.mint({}), tokens.revoke('x'), world.explain('x'), accounts.list(), accounts.get('ID'),
      accounts.add({}), accounts.change('ID', {}), accounts.remove('ID'), world.mail(), world.sendMail({ to: 'x' }),
      world.message('ID'), world.rawMail('ID'), world.attachment('ID', 1), world.reply('ID', 'x'), world.deleteMail('ID'),
      world.deleteMail(), apple.authorize({}), apple.credentialState({}), apple.notify({}), apple.revoke({}), apple.relay({}),
      apple.rotateKeys(), github.revoke({}), github.logOut({}), google.authorize({}), google.revoke({}),
      google.sendSecurityEvent({}), facebook.authorize({}),
      facebook.revoke({}), microsoft.revoke({}), openID.revoke({}), openID.logOut({}), openID.clients(), openID.removeClients(),
      openID.removeClients('ID'), world.firebaseExport()
    ]
    await Promise.all(all)
    await (await world.order('apple', 'cancel')).remove()
    await (await world.fault({ status: 503 })).remove()
  })
  // These calls need no method: a world is reset at its own address, and the description of all calls is for generators
  // of clients.
  const without = ['POST worlds/:name/reset', 'GET openapi.json']
  assert.deepEqual(listed.filter(call => !calls.has(call) && !without.includes(call)), [])
  assert.deepEqual([...calls].filter(call => !listed.includes(call)), [])
})

test('a scenario\'s orders', async () => {
  const { name, parameters } = await real.world('w').scenarios.get('provider-outage')
  assert.equal(name, 'provider-outage')
  assert.ok(parameters.host)
})

test('endpoints, and Firebase\'s export', async () => {
  const world = real.world('w')
  assert.ok((await world.endpoints()).some(one => one.path === '/auth/token' && one.errors.includes('invalid_grant')))
  const archive = await world.firebaseExport('demo-app')
  assert.equal(archive.length % 512, 0)
  assert.match(new TextDecoder().decode(archive), /accounts\.json/)
})
