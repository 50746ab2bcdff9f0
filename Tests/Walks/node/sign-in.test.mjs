import assert from 'node:assert/strict'
import test, { beforeEach } from 'node:test'

import { Understudy } from '@understudy/client'
import * as app from './sign-in.mjs'

const world = (await Understudy.connect()).world()

async function signIn(provider, account) {
  await world.order(provider, 'approve', { account })
  const { pending, url } = await app.begin(provider)
  return app.finish(pending, (await world.follow(url)).url)
}

beforeEach(() => world.reset())

test('Google: discovery, code, PKCE, and an ID token that our key set verifies', async () => {
  const ada = await signIn('google', 'ada')
  assert.equal(ada.email, 'ada@example.com')
  assert.equal((await signIn('google', 'ada')).sub, ada.sub)
  assert.notEqual((await signIn('google', 'grace')).sub, ada.sub)
})

test('GitHub: code and PKCE, the user, and the address that is hers', async () => {
  assert.deepEqual(await signIn('github', 'ada'), { login: 'ada', email: 'ada@example.com' })
})

test('a cancelled sign-in', async () => {
  for (const provider of ['google', 'github']) {
    await world.order(provider, 'cancel')
    const { pending, url } = await app.begin(provider)
    const back = await world.follow(url)
    await assert.rejects(app.finish(pending, back.url), new app.Refused('access_denied'))
  }
})

test('a wrong verifier is refused, and the recording says why', async () => {
  for (const [provider, error] of [['google', 'invalid_grant'], ['github', 'bad_verification_code']]) {
    await world.order(provider, 'approve', { account: 'ada' })
    const { pending, url } = await app.begin(provider)
    const back = await world.follow(url)
    await assert.rejects(app.finish({ ...pending, verifier: 'x'.repeat(43) }, back.url), new app.Refused(error))
    assert.match((await world.refusals()).at(-1).diagnosis, /code_verifier/)
  }
})

test('tokens that mustn\'t be believed', async () => {
  for (const [token, complaint] of [
    [{ signature: 'invalid' }, /signature/], [{ signature: 'unknownKey' }, /no key/], [{ signature: 'none' }, /no key/],
    [{ claims: { aud: 'another' } }, /aud/], [{ claims: { nonce: 'another' } }, /nonce/], [{ claims: { exp: '-1h' } }, /exp/]
  ]) {
    await world.fault({ path: '/token', token })
    await assert.rejects(signIn('google', 'ada'), complaint)
  }
})

test('Firebase: a password, then Google, for one person', async () => {
  // Firebase believes Google of Gmail's addresses, and of nobody else's.
  await world.accounts.add({ id: 'mary', email: 'mary@gmail.com' })
  const user = await app.signUp('mary@gmail.com', 'correct horse')
  assert.equal((await app.firebaseUser(user.idToken)).email, 'mary@gmail.com')
  await assert.rejects(app.signUp('mary@gmail.com', 'another'), new app.Refused('EMAIL_EXISTS'))
  const { idToken } = await signIn('google', 'mary')
  const same = await app.signInWithGoogle(idToken)
  assert.equal(same.localId, user.localId)
  assert.equal((await app.firebaseUser(same.idToken)).firebase.sign_in_provider, 'google.com')
  await assert.rejects(app.signInWithGoogle(idToken.slice(0, -4)), /INVALID_IDP_RESPONSE/)

  await app.signUp('ada@example.com', 'correct horse')
  assert.equal((await app.signInWithGoogle((await signIn('google', 'ada')).idToken)).needConfirmation, true)
})
