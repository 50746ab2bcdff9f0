import assert from 'node:assert/strict'
import test from 'node:test'

import { AppleAuthorizationError, noncePair } from '@understudy/client'
import { authorizeURL, callback, daemon } from './support.js'

const understudy = await daemon()
const client = 'com.example.app'
const claimsOf = token => JSON.parse(Buffer.from(token.split('.')[1], 'base64url'))

test('Apple, natively', async () => {
  const { apple } = understudy.world('apple')
  const nonce = noncePair()
  const credential = await apple.authorize({ client, account: 'ada', scopes: ['fullName', 'email'], nonce: nonce.sha256, state: 's' })
  assert.equal(claimsOf(credential.identityToken).nonce, nonce.sha256)
  assert.deepEqual(credential.fullName, { givenName: 'Ada', familyName: 'Lovelace' })
  assert.deepEqual([credential.email, credential.state, credential.realUserStatus], ['ada@example.com', 's', 2])
  const again = await apple.authorize({ client, account: 'ada', scopes: ['fullName', 'email'] })
  assert.deepEqual([again.user, again.email, again.fullName], [credential.user, undefined, undefined])
})

test('a cancel', async () => {
  const world = understudy.world('cancel')
  await world.order('apple', 'cancel')
  await assert.rejects(world.apple.authorize({ client }), error =>
    error instanceof AppleAuthorizationError && error.code === AppleAuthorizationError.canceled && error.codeName === 'canceled')
  await assert.rejects(world.apple.authorize({ client: 'com.example.unknown' }), { code: AppleAuthorizationError.unknown })
  await assert.rejects(world.apple.authorize({ clint: client }), { code: 'invalidBody', path: '$.clint' })
})

test('what people do in Apple\'s settings', async () => {
  const { apple } = understudy.world('settings')
  const { user } = await apple.authorize({ client, account: 'ada' })
  assert.equal(await apple.credentialState({ client, user }), 'authorized')
  const told = await apple.notify({ type: 'consent-revoked', account: 'ada', client })
  assert.equal(told.delivered, false)
  assert.match(told.failure, /notificationsURL/)
  assert.equal(await apple.credentialState({ client, user }), 'revoked')
  await apple.authorize({ client, account: 'ada' })
  assert.equal((await apple.revoke({ account: 'ada', client })).revoked, true)
  const { signing, published } = await apple.rotateKeys()
  assert.ok(published.includes(signing))
  await assert.rejects(apple.relay({ from: 'a@example.com', to: 'nobody@privaterelay.appleid.com' }), { code: 'noSuchAddress' })
  const { email } = await apple.authorize({ client, account: 'grace', scopes: ['email'] })
  assert.equal((await apple.relay({ from: 'support@example.com', to: email })).to, 'grace@example.com')
  assert.equal((await apple.relay({ from: 'support@another.example', to: email })).reason, 'unauthorizedSender')
})

test('Google, Facebook, GitHub, OpenID', async () => {
  const world = understudy.world('others')
  const google = await world.google.authorize({ client: 'example.apps.googleusercontent.com', account: 'ada', nonce: 'n' })
  assert.equal(claimsOf(google.idToken).nonce, 'n')
  assert.equal(google.serverAuthCode, undefined)
  const client = 'example.apps.googleusercontent.com'
  const popup = await world.google.authorize({ client, serverClient: client, account: 'ada' })
  assert.match(popup.serverAuthCode, /^4\/0A/)
  const told = await world.google.sendSecurityEvent({ type: 'tokens-revoked', account: 'ada', client })
  assert.equal(told.delivered, false)
  assert.match(told.failure, /securityEventsURL/)
  await world.google.authorize({ client, account: 'ada' })
  assert.equal((await world.google.revoke({ account: 'ada', client: '*' })).revoked, true)
  const limited = await world.facebook.authorize({ client: '1234567890', account: 'ada', nonce: 'n', tracking: 'limited' })
  assert.match(JSON.stringify(limited), /eyJ/)
  assert.match((await world.facebook.authorize({ client: '1234567890', account: 'ada' })).accessToken, /^EAA/)
  assert.equal((await world.facebook.revoke({ account: 'ada', client: '*' })).revoked, true)
  await world.order('google', 'cancel')
  await assert.rejects(world.google.authorize({ client: 'example.apps.googleusercontent.com' }), { code: 'canceled' })

  await world.order('github', 'approve', { account: 'ada' })
  const code = (await world.follow(authorizeURL(world))).fields.code
  await fetch(`${world.hostURL('github.com')}/login/oauth/access_token`, {
    method: 'POST', body: new URLSearchParams({
      client_id: 'Iv1.0123456789abcdef', client_secret: 'github-secret-for-tests', code, redirect_uri: callback }) })
  assert.equal((await world.github.revoke({ account: 'ada', client: 'Iv1.0123456789abcdef' })).revoked, true)
  assert.deepEqual(await world.github.logOut({ account: 'ada' }), { sessions: 0 })
  assert.equal((await world.openID.logOut({ account: 'ada', issuer: 'corp' })).sessions, 0)
  assert.equal((await world.openID.revoke({ account: 'ada', client: '*' })).revoked, false)
  for (let count = 0; count < 2; count++) {
    await fetch(`${world.url}/oidc/corp/register`, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ redirect_uris: [callback] }) })
  }
  const [first, second] = await world.openID.clients()
  assert.deepEqual([first.issuer, first.metadata.redirect_uris], ['corp', [callback]])
  await world.openID.removeClients(first.clientID)
  assert.deepEqual(await world.openID.clients(), [second])
  await world.openID.removeClients()
  assert.deepEqual(await world.openID.clients(), [])
})
