// This is code as in an app's tests in TypeScript. types.test.js compiles it and doesn't run it.
import {
  AppleAuthorizationError, noncePair, Understudy, UnderstudyError, VerificationError, worldName, World,
  type AppleCredential, type Exchange, type Message, type Verified
} from '@understudy/client'
import { understudyTasks } from '@understudy/client/cypress'
import { understudy as ofThisProcess, withWorld } from '@understudy/client/node-test'
import { fixtures, type UnderstudyFixtures, type WorldFixtures } from '@understudy/client/playwright'

export async function everything(): Promise<void> {
  const understudy: Understudy = await Understudy.start({ binary: 'understudy', seed: ['a.json', { accounts: [] }], arguments: [] })
  await Understudy.connect('http://localhost:9099', { controlToken: 'x' })
  const world: World = understudy.world(worldName('a test'))
  await world.order('apple', 'approve', { account: 'grace', shareEmail: false, times: null })
  await world.fault({ host: 'appleid.apple.com', path: '/auth/token', error: 'invalid_grant', delay: 20, after: 1, times: Infinity })
  await world.fault({ path: '/token', token: { claims: { exp: '-1h', nonce: null }, signature: 'unknownKey' } })
  const now: Date = await world.clock.advance('6m')
  await world.clock.set(now)
  const { raw, sha256 } = noncePair()
  const credential: AppleCredential = await world.apple.authorize({ client: 'com.example.app', nonce: sha256, scopes: ['email'] })
  await world.tokens.mint({ provider: 'apple', client: 'com.example.app', account: 'ada', nonce: raw, claims: { sub: credential.user } })
  const exchanges: Exchange[] = await world.requests({ status: '4xx', refused: true, wait: '1s', count: 2 })
  const verified: Verified[] = await world.verify([{ path: '/auth/token', fields: { grant_type: 'refresh_token' }, atMost: 0 }])
  const [message]: Message[] = await world.mail({ to: exchanges[0]?.id, wait: 100 })
  const bytes: Uint8Array = await world.rawMail(message.id, { forwarded: true })
  await world.restore(await world.snapshot())
  const variables: Record<string, string | undefined> = await world.environment()
  try { await world.reset() } catch (error) {
    if (error instanceof AppleAuthorizationError && error.code === AppleAuthorizationError.canceled) return
    if (error instanceof VerificationError) console.log(error.expectations.length, verified.length, bytes.length, variables)
    if (error instanceof UnderstudyError) console.log(error.code, error.path, error.status)
  }

  // Optional values can be passed on without a check.
  const account: string | undefined = variables.ACCOUNT
  await world.order('apple', 'approve', { account })
  await world.apple.authorize({ client: 'com.example.app', nonce: account })
  await world.requests({ host: account, after: account })
  await world.sendMail({ from: 'a@example.com', to: 'b@example.com', subject: account })

  // @ts-expect-error: an outcome is one of three.
  await world.order('apple', 'refuse')
  // @ts-expect-error: an effect that there isn't.
  await world.fault({ path: '/token', explode: true })
  // @ts-expect-error: a client is needed.
  await world.apple.authorize({})
  // @ts-expect-error: names are misspelt.
  await world.requests({ refuse: true })
}

/** The type that node:test declares. */
declare function test(name: string, run: (t: TestContext) => Promise<void>): void
interface TestContext { readonly name: string; readonly signal: AbortSignal; diagnostic(message: string): void; skip(): void }
test('a test', withWorld(async (world, t: TestContext) => { t.skip(); await world.reset() }, { seed: { accounts: [] } }))
test('without its context', withWorld(async world => world.reset()))
export const daemon: Promise<Understudy> = ofThisProcess({ arguments: ['--scenario', 'provider-outage'] })

export const use = ({ world, understudy }: WorldFixtures & UnderstudyFixtures): string => understudy.url + world.url + fixtures.understudy[1].scope
export const answer: Promise<unknown> = understudyTasks({ world: 'cypress' }).understudy(['clock.advance', '6m'])
