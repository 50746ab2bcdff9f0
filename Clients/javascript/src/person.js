import { addresses, isPrivate } from './address.js'
import { limits } from './control.js'
import { UnderstudyError } from './errors.js'
import { describeOutcome } from './recording.js'

/// The maximum number of steps of a sign-in.
const steps = 20

/// Follows a sign-in from the address to which the app sends the browser, until an address is at another server, the
/// app's.
export async function follow(url, world) {
  const { origin, hostname } = parsed(url)
  if (hostname !== new URL(world.url).hostname && await isReal(hostname, world)) {
    throw new UnderstudyError('realProvider', `the app leads to the real ${hostname}, not to ${world.hostURL(hostname)}: lead it there`)
  }
  const cookies = new Map()
  let form
  for (let step = 0; step < steps; step += 1) {
    if (new URL(url).origin !== origin) return callback(url, form)
    const [answer, page] = await ask(url, {
      method: form ? 'POST' : 'GET', body: form && new URLSearchParams(form), redirect: 'manual',
      headers: cookies.size > 0 ? { cookie: [...cookies].map(pair => pair.join('=')).join('; ') } : {}
    })
    keep(cookies, answer.headers)
    const posted = answerForm(page)
    if (answer.headers.has('location')) [url, form] = [new URL(answer.headers.get('location'), url).href, undefined]
    else if (posted) [url, form] = [new URL(posted.action, url).href, posted.fields]
    else throw await pageError(url, answer, world)
  }
  throw new UnderstudyError('page', `${url}: it leads in circles`)
}

/// Whether a host is the real provider's. If a provider's name has this machine's address, requests to it are
/// intercepted. Without DNS it has no address.
async function isReal(host, world) {
  const found = await addresses(host)
  if (found.length > 0) return !found.every(isPrivate)
  const hosts = new Set((await world.endpoints()).map(one => one.host))
  return hosts.has(host) || [...hosts].some(one => one?.startsWith('*') && host.endsWith(one.slice(1)))
}

function parsed(url) {
  let found
  try { found = new URL(url) } catch { /* No address at all. */ }
  if (!/^https?:$/.test(found?.protocol)) throw new UnderstudyError('invalidURL', `${JSON.stringify(url)} isn't an address that a browser goes to`)
  return found
}

async function ask(url, request) {
  try {
    const answer = await fetch(url, { ...request, signal: AbortSignal.timeout(limits.answer) })
    return [answer, await answer.text()]
  } catch (error) {
    throw new UnderstudyError('unreachable', `nobody answers at ${url}: ${error.cause?.message || error.cause?.code || error.message}`, { cause: error })
  }
}

function callback(url, form) {
  const { searchParams, hash, pathname, search } = new URL(url)
  const fields = Object.fromEntries([...searchParams, ...new URLSearchParams(hash.slice(1)), ...Object.entries(form ?? {})])
  return { method: form ? 'POST' : 'GET', url, path: `${pathname}${search}`, form: form ?? {}, fields }
}

async function pageError(url, answer, world) {
  const reason = answer.headers.get('understudy-diagnosis') ?? advice(url, (await world.outcomes()).map(describeOutcome))
  return new UnderstudyError('page', `${url} answered with a page (${answer.status}): ${reason}`, { status: answer.status })
}

function advice(url, waiting) {
  const client = new URL(url).searchParams.get('client_id')
  return waiting.length === 0
    ? `it asks the person. Order what they do before they go there: world.order("${providerAt(url)}", "approve", { account: "ada" })`
    : `it asks the person, since no outcome that waits is for this sign-in${client ? `, which ${client} has begun` : ''}: ${waiting.join(' ').replace(/,$/, '')}`
}

const providers = {
  'appleid.apple.com': 'apple', 'github.com': 'github', 'www.facebook.com': 'facebook', 'accounts.google.com': 'google',
  'login.microsoftonline.com': 'microsoft'
}
const providerAt = url => Object.entries(providers).find(([host]) => url.split('?')[0].includes(host))?.[1] ?? 'openid'

/// Keeps the name and the value of each cookie. All cookies are sent with each request, since all go to one daemon.
function keep(cookies, headers) {
  // Node 18 joins the header's fields by commas. A comma in a date is followed by a space and a digit.
  const lines = headers.getSetCookie?.() ?? (headers.get('set-cookie') ?? '').split(/, (?=[^;, ]+=)/).filter(Boolean)
  for (const line of lines) {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (name === undefined) continue
    if (/;\s*max-age=0\b/i.test(line)) cookies.delete(name)
    else cookies.set(name, value)
  }
}

/// Finds the form that a page's script submits, as with Apple's `form_post`.
function answerForm(page) {
  const [, tag, content] = /(<form\b[^>]*\bid="answer"[^>]*>)(.*?)<\/form>/s.exec(page) ?? []
  if (tag === undefined) return undefined
  const fields = [...content.matchAll(/<input\b[^>]*>/g)].map(([input]) => [attribute(input, 'name'), attribute(input, 'value') ?? ''])
  return { action: attribute(tag, 'action') ?? '', fields: Object.fromEntries(fields.filter(([name]) => name)) }
}

function attribute(tag, name) {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]
  const named = { amp: '&', lt: '<', gt: '>', quot: '"' }
  return value?.replace(/&(?:#(\d+)|(\w+));/g, (whole, number, name) => number ? String.fromCodePoint(number) : named[name] ?? whole)
}
