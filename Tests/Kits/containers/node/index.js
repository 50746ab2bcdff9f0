// Stands for testcontainers where that can't be had: it declares what docs/containers.md uses as the library does, and starts the
// daemon at UNDERSTUDY_BINARY in place of a container. https://node.testcontainers.org
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export class GenericContainer {
  #image
  #ports = []
  #strategy

  constructor(image) { this.#image = image }

  withExposedPorts(...ports) {
    this.#ports.push(...ports)
    return this
  }

  withWaitStrategy(strategy) {
    this.#strategy = strategy
    return this
  }

  async start() {
    if (!/\/understudy:/.test(this.#image)) throw new Error(`there is no image ${this.#image}`)
    const daemon = spawn(process.env.UNDERSTUDY_BINARY, ['serve', '--port', '0'], { stdio: ['ignore', 'pipe', 'ignore'] })
    const [line] = await once(createInterface({ input: daemon.stdout }), 'line')
    const { hostname, port } = new URL(line.split(' ').at(-1))
    const started = {
      getHost: () => hostname,
      getMappedPort: wanted => {
        if (!this.#ports.includes(wanted)) throw new Error(`port ${wanted} isn't exposed`)
        return Number(port)
      },
      async stop() {
        const ended = once(daemon, 'exit')
        daemon.kill()
        await ended
      }
    }
    await this.#strategy(started)
    return started
  }
}

export const Wait = {
  forHttp: (path, port) => async started => {
    const answer = await fetch(`http://${started.getHost()}:${started.getMappedPort(port)}${path}`)
    if (!answer.ok) throw new Error(`${path} answers ${answer.status}`)
  }
}
