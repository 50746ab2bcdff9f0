import { VerificationError } from './errors.js'

/// The maximum number of exchanges that the report of a failed test or expectation shows.
const shown = 20

/// Describes an exchange on one line, with its diagnosis or its note.
export const describe = exchange =>
  `${exchange.method} ${exchange.host ?? ''}${exchange.path} ${exchange.status}`
  + [exchange.diagnosis ?? exchange.note].filter(Boolean).map(text => `: ${text}`).join('')

/// Lists the refused requests with their reasons, or all requests if none was refused, and then the orders that never
/// took effect. Returns lines.
export async function account(world) {
  let came, unmet
  try { [came, unmet] = [await world.requests(), await unmetOrders(world)] } catch (error) {
    return [`the recording can't be read: ${error.message}`]
  }
  const refused = came.filter(one => one.diagnosis !== undefined)
  let lines
  if (came.length === 0) lines = [`no request came to ${world.url}: was the code under test led there?`]
  else if (refused.length > 0) lines = refused.slice(-shown).map(describe)
  else lines = ['nothing was refused; what came:', ...came.slice(-shown).map(describe)]
  return [...lines, ...unmet]
}

/// Lists the orders that never took effect. Often such an order is wrong, and not the code under test.
async function unmetOrders(world) {
  const faults = (await world.faults()).filter(one => one.seen === 0)
    .map(one => `${one.id} met no request that matches ${JSON.stringify(one.match)}`)
  // An outcome without a number of times may have taken effect, although it still waits.
  const outcomes = (await world.outcomes()).filter(one => one.times !== null)
    .map(one => `${describeOutcome(one)} still waits for a sign-in (times: ${one.times})`)
  return [...faults, ...outcomes].slice(-shown)
}

/// Describes an outcome: `outcome-1, approve at apple by ada for client com.example.web,`.
export const describeOutcome = ({ id, outcome, provider, account, client }) =>
  `${id}, ${outcome} at ${provider}${account ? ` by ${account}` : ''}${client ? ` for client ${client}` : ''},`

/// Returns the whole recording as an HTTP archive. The daemon sends pages, each of which names the next in its comment.
export async function archive(control) {
  const whole = await control.call('GET', 'requests', { query: { format: 'har' } })
  for (let page = whole.log, next; (next = /after=(\w+)$/.exec(page.comment ?? '')?.[1]) !== undefined;) {
    page = (await control.call('GET', 'requests', { query: { format: 'har', after: next } })).log
    whole.log.entries.push(...page.entries)
    if (page._mail) whole.log._mail = [...whole.log._mail ?? [], ...page._mail]
  }
  delete whole.log.comment
  return whole
}

/// Returns the expectations if the recording meets them. Otherwise it throws an error that lists the requests that
/// came.
export async function verified(world, control, expected) {
  const body = Array.isArray(expected) ? { expectations: expected } : expected
  try { return (await control.call('POST', 'verify', { body })).expectations } catch (error) {
    if (error.code !== 'unmet') throw error
    const { expectations } = error.answer
    throw new VerificationError(await complaint(world, expectations), expectations)
  }
}

async function complaint(world, expectations) {
  const came = await world.requests()
  const named = id => {
    const exchange = came.find(one => one.id === id)
    return exchange === undefined ? id : `${id} ${describe(exchange)}`
  }
  const lines = expectations.filter(one => !one.met).flatMap(one => [
    one.message,
    ...(one.near ?? []).flatMap(({ id, differences }) => [`  nearest: ${named(id)}`, ...differences.map(text => `    ${text}`)])
  ])
  const rest = came.length > shown ? `, the last ${shown}` : ''
  const list = came.length === 0 ? ['no request came'] : [`what came (${came.length}${rest}):`, ...came.slice(-shown).map(one => `  ${named(one.id)}`)]
  return [...lines, ...list].join('\n')
}
