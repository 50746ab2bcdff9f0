// In these tests, a server that isn't a daemon answers, or an answer breaks off.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import test from 'node:test'

import { Understudy, UnderstudyError } from '@understudy/client'
import { limits } from '../src/control.js'

const token = 'a-control-token-for-tests'

/// Starts a server that answers every request with a text, and then writes `drip` again and again.
async function stranger(text, run, drip) {
  const came = []
  const open = new Set()
  const server = createServer(socket => {
    open.add(socket)
    socket.on('error', () => {})
    socket.once('data', data => {
      came.push(String(data))
      if (drip === undefined) return socket.end(text)
      socket.write(text)
      const timer = setInterval(() => socket.write(drip), 10)
      socket.on('close', () => clearInterval(timer))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try { await run(`http://127.0.0.1:${server.address().port}`, came) } finally {
    for (const socket of open) socket.destroy()
    server.close()
  }
}

const answer = (body, status = 200, header = '') =>
  `HTTP/1.1 ${status} X\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n${header}\r\n${body}`

const calls = [
  url => Understudy.connect(url), url => new Understudy(url).worlds(), url => new Understudy(url).requests(),
  url => new Understudy(url).world('w').requests(), url => new Understudy(url).world('w').apple.authorize({ client: 'x' }),
  url => new Understudy(url).world('w').verify({})
]

for (const [name, text, code, words] of [
  ['a page', answer('<html>hello</html>'), 'unexpectedAnswer', /isn't Understudy: status 200, <html>hello/],
  ['a list', answer('[1, 2]'), 'unexpectedAnswer', /isn't Understudy/],
  ['a failure', answer('boom', 500), 'unexpectedAnswer', /isn't Understudy: status 500, boom/],
  ['a failure in JSON', answer('{"error": "boom"}', 500), 'unexpectedAnswer', /isn't Understudy/],
  ['an error of another form', answer('{"error": {"code": "x", "faults": 1}}', 400), 'unexpectedAnswer', /isn't Understudy/],
  ['a long page', answer('x'.repeat(100_000), 502), 'unexpectedAnswer', /, x{500}$/],
  ['half an answer', answer('{"status":').slice(0, -1), 'unreachable', /no Understudy answers at http:/],
  ['no HTTP', '\0garbage\r\n\r\n', 'unreachable', /no Understudy answers at http:/],
  ['nothing', '', 'unreachable', /no Understudy answers at http:/]
]) {
  test(`${name} is told`, () => stranger(text, async url => {
    for (const call of calls) {
      await assert.rejects(call(url), error => error instanceof UnderstudyError && error.code === code && words.test(error.message))
    }
  }))
}

test('JSON of another server is told when it is connected to', () => stranger(answer('{"hello": "world"}'), async url => {
  await assert.rejects(Understudy.connect(url), { code: 'unexpectedAnswer' })
  await assert.rejects(new Understudy(url).requests(), { code: 'unexpectedAnswer' })
}))

test('a redirect gets no token', () => stranger(answer('{}'), async (elsewhere, asked) => {
  for (const status of [301, 302, 303, 307, 308]) {
    await stranger(answer('', status, `Location: ${elsewhere}/\r\n`), async (url, came) => {
      await assert.rejects(new Understudy(url, token).worlds(), { code: 'unexpectedAnswer', status })
      assert.match(came[0], new RegExp(`Bearer ${token}`))
    })
  }
  assert.deepEqual(asked, [])
}))

test('an answer in drops is given up', () => stranger('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n', async url => {
  const { answer } = limits
  limits.answer = 200
  try {
    await assert.rejects(new Understudy(url).worlds(), error => error.code === 'unreachable' && /no whole answer in 0.2 seconds/.test(error.message))
  } finally { limits.answer = answer }
}, ' '))
