import assert from 'node:assert/strict'
import test from 'node:test'

import { UnderstudyError } from '@understudy/client'
import { daemon } from './support.js'

const understudy = await daemon()

test('mail is waited for, found and read', async () => {
  const world = understudy.world('mail')
  const waiting = world.mail({ to: 'max@example.org', wait: '20s' })
  await world.sendMail({ from: 'app@example.com', to: 'zoe@example.org', subject: 'Another', text: 'x' })
  const { smtp, messages: [sent] } = await world.sendMail({
    from: 'app@example.com', to: ['max@example.org'], subject: 'Welcome', text: 'Your code is 123456: https://example.com/c?d=1' })
  assert.equal(smtp.code, 250)
  const [message] = await waiting
  assert.deepEqual([message.id, message.subject, message.codes, message.links], [sent.id, 'Welcome', ['123456'], ['https://example.com/c?d=1']])
  assert.equal((await world.message(message.id)).to, 'max@example.org')
  assert.match(new TextDecoder().decode(await world.rawMail(message.id)), /^Subject: Welcome/m)
  const { messages: [answer] } = await world.reply(message.id, 'Thank you')
  assert.deepEqual([answer.from, answer.to, answer.subject], ['max@example.org', 'app@example.com', 'Re: Welcome'])
  assert.equal((await world.mail({ from: 'app@example.com', subject: 'welc' })).length, 1)
  assert.equal((await world.mail()).length, 3)
  assert.deepEqual((await world.mail({ after: sent.id })).map(one => one.id), [answer.id])
  await world.deleteMail(answer.id)
  assert.equal((await world.mail({ kind: 'mail' })).length, 2)
  await world.deleteMail()
  assert.deepEqual(await world.mail(), [])
})

test('long mails come whole', async () => {
  const world = understudy.world('long')
  const { host, port } = await world.smtp()
  await deliver(host, port, 'app@example.com', 'max@example.org', ['Subject: long', '', ...Array(3_000).fill('x'.repeat(70))])
  assert.equal((await world.call('GET', 'mail')).messages[0].cut, true)
  assert.ok((await world.mail({ wait: '20s' }))[0].text.length > 3_000 * 70)
})

test('what came instead of the mail that was waited for', async () => {
  const world = understudy.world('instead')
  await assert.rejects(world.mail({ to: 'max@example.org', wait: 20 }), error =>
    error instanceof UnderstudyError && error.code === 'noMail'
      && error.message === 'nothing came within 20ms that fits {"to":"max@example.org"}; the inbox is empty')
  await world.sendMail({ from: 'app@example.com', to: 'zoe@example.org', subject: 'Welcome', text: 'x' })
  await assert.rejects(world.mail({ to: 'max@example.org', wait: '20ms' }), error =>
    /in the inbox:\n {2}m1 from app@example.com to zoe@example.org: Welcome$/.test(error.message))
  assert.deepEqual(await world.mail({ to: 'max@example.org' }), [])
})

test('attachments, and mails as a relay forwards them', async () => {
  const world = understudy.world('relay')
  await world.order('apple', 'approve', { account: 'grace', shareEmail: false })
  const { email } = await world.apple.authorize({ client: 'com.example.app', scopes: ['email'] })
  const { host, port } = await world.smtp()
  await deliver(host, port, 'support@example.com', email, [
    `From: support@example.com`, `To: ${email}`, 'Subject: Welcome', 'MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=b', '',
    '--b', 'Content-Type: text/plain', '', 'Hello', '--b', 'Content-Type: application/octet-stream; name=x.bin',
    'Content-Transfer-Encoding: base64', 'Content-Disposition: attachment; filename=x.bin', '', 'AAEC/w==', '--b--'])
  const [message] = await world.mail({ to: 'grace@example.com', wait: '20s' })
  assert.equal(message.relay.forwardedTo, 'grace@example.com')
  assert.deepEqual(await world.attachment(message.id, 1), new Uint8Array([0, 1, 2, 255]))
  assert.match(new TextDecoder().decode(await world.rawMail(message.id, { forwarded: true })), /support_at_example_com_/)
  assert.doesNotMatch(new TextDecoder().decode(await world.rawMail(message.id)), /support_at_example_com_/)
})

test('faults of mail', async () => {
  const world = understudy.world('faults')
  await world.fault({ smtp: 'MESSAGE', to: '*@example.org', reply: { code: 450, status: '4.2.1', text: 'try again later' } })
  assert.equal((await world.sendMail({ from: 'app@example.com', to: 'max@example.org', text: 'x' })).smtp.code, 450)
})

/// Sends one mail by SMTP.
async function deliver(host, port, from, to, lines) {
  const { connect } = await import('node:net')
  const { createInterface } = await import('node:readline')
  const socket = connect(port, host)
  const answers = createInterface({ input: socket })[Symbol.asyncIterator]()
  for (const command of [undefined, 'HELO test', `MAIL FROM:<${from}>`, `RCPT TO:<${to}>`, 'DATA', [...lines, '.'].join('\r\n'), 'QUIT']) {
    if (command !== undefined) socket.write(`${command}\r\n`)
    const { value } = await answers.next()
    assert.match(value, /^[23]/, `${command}: ${value}`)
  }
  socket.end()
}
