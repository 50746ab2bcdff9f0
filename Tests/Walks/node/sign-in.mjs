// What a Node service needs to sign people in with Google, GitHub and Firebase, with nothing but Node. Where the providers
// are stands in the environment; without it, they are where they are.
import { createHash, createPublicKey, randomBytes, verify } from 'node:crypto'

const at = (name, real) => process.env[name] ?? real
export const google = at('GOOGLE_BASE_URL', 'https://accounts.google.com')
export const github = at('GITHUB_BASE_URL', 'https://github.com')
export const githubAPI = at('GITHUB_API_URL', 'https://api.github.com')
// As Firebase's SDKs do, with the emulator's variable.
const emulator = process.env.FIREBASE_AUTH_EMULATOR_HOST
const firebase = emulator
  ? `http://${emulator}/identitytoolkit.googleapis.com` : 'https://identitytoolkit.googleapis.com'
const firebaseKeys = 'https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com'

export const callback = 'http://localhost:3000/callback'
const clients = {
  google: { client_id: 'example.apps.googleusercontent.com', client_secret: 'google-secret-for-tests' },
  github: { client_id: 'Iv1.0123456789abcdef', client_secret: 'github-secret-for-tests' }
}

export class Refused extends Error {}

async function ask(url, options) {
  const answer = await fetch(url, options)
  const body = await answer.json()
  // GitHub refuses with 200.
  if (!answer.ok || body.error) throw new Refused(body.error?.message ?? body.error ?? body.message)
  return body
}

export const discover = () => ask(`${google}/.well-known/openid-configuration`)

/// Begins a sign-in: what the callback needs to know, and where the browser goes.
export async function begin(provider) {
  const random = () => randomBytes(32).toString('base64url')
  const pending = { provider, state: random(), nonce: random(), verifier: random() }
  const page = provider === 'google'
    ? (await discover()).authorization_endpoint : `${github}/login/oauth/authorize`
  const url = `${page}?` + new URLSearchParams({
    client_id: clients[provider].client_id, redirect_uri: callback, response_type: 'code', state: pending.state,
    scope: provider === 'google' ? 'openid email profile' : 'read:user user:email',
    ...(provider === 'google' ? { nonce: pending.nonce } : {}),
    code_challenge: createHash('sha256').update(pending.verifier).digest('base64url'), code_challenge_method: 'S256'
  })
  return { pending, url }
}

/// The browser is back: who it is.
export async function finish(pending, url) {
  const fields = new URL(url).searchParams
  if (fields.get('state') !== pending.state) throw new Refused('state')
  if (fields.has('error')) throw new Refused(fields.get('error'))
  const tokenURL = pending.provider === 'google'
    ? (await discover()).token_endpoint : `${github}/login/oauth/access_token`
  const tokens = await ask(tokenURL, {
    method: 'POST', headers: { accept: 'application/json' },
    body: new URLSearchParams({
      ...clients[pending.provider], grant_type: 'authorization_code', code: fields.get('code'), redirect_uri: callback,
      code_verifier: pending.verifier
    })
  })
  if (pending.provider === 'google') {
    const claims = await verified(tokens.id_token, (await discover()).jwks_uri, {
      iss: 'https://accounts.google.com', aud: clients.google.client_id, nonce: pending.nonce })
    return { idToken: tokens.id_token, ...claims }
  }
  const headers = { authorization: `Bearer ${tokens.access_token}`, 'user-agent': 'a Node service' }
  const [user, emails] = await Promise.all(
    ['user', 'user/emails'].map(path => ask(`${githubAPI}/${path}`, { headers })))
  return { login: user.login, email: emails.find(one => one.primary && one.verified)?.email }
}

/// An ID token's claims, if its signature and they hold.
export async function verified(token, keysURL, expected) {
  const [head, body, signature] = token.split('.')
  const decoded = part => JSON.parse(Buffer.from(part, 'base64url'))
  const { alg, kid } = decoded(head)
  const { keys } = await ask(keysURL)
  const jwk = keys.find(key => key.kid === kid)
  if (alg !== 'RS256' || !jwk) throw new Refused(`no key for ${alg} ${kid}`)
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  if (!verify('RSA-SHA256', Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url'))) {
    throw new Refused('signature')
  }
  const claims = decoded(body)
  for (const name of Object.keys(expected)) if (claims[name] !== expected[name]) throw new Refused(name)
  if (claims.exp * 1000 < Date.now()) throw new Refused('exp')
  return claims
}

const firebaseCall = (operation, body) => ask(`${firebase}/v1/accounts:${operation}?key=demo-api-key`, {
  method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

export const signUp = (email, password) => firebaseCall('signUp', { email, password, returnSecureToken: true })

/// Hands Google's ID token to Firebase.
export const signInWithGoogle = idToken => firebaseCall('signInWithIdp', {
  requestUri: 'http://localhost', returnSecureToken: true,
  postBody: `${new URLSearchParams({ id_token: idToken, providerId: 'google.com' })}` })

/// Whose Firebase ID token this is. In the emulator's place, tokens aren't signed, as the Admin SDK wants it.
export async function firebaseUser(idToken) {
  const expected = { iss: 'https://securetoken.google.com/demo-app', aud: 'demo-app' }
  if (!emulator) return verified(idToken, firebaseKeys, expected)
  const [head, body] = idToken.split('.').map(part => Buffer.from(part, 'base64url'))
  if (JSON.parse(head).alg !== 'none') throw new Refused('alg')
  return JSON.parse(body)
}
