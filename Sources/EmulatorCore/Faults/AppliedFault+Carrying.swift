import HTTPServer

extension AppliedFault {
    /// Carries the fault out: answers in the operation's place, or changes its answer. Waiting for a key that must be
    /// made holds no thread.
    func carryOut(_ exchange: Exchange, at operation: Operation, run: @escaping @Sendable () -> Reply) -> Reply {
        if fault.effect.rotation != nil, let owner = operation.traits?.mints ?? operation.traits?.publishes {
            return .later { [self] done in
                rotate(exchange, owner) { [self] in proceed(exchange, at: operation, run: run).deliver(done) }
            }
        }
        if fault.effect.token?.signature == .unknownKey, let owner = operation.traits?.mints {
            return .later { [self] done in
                exchange.world.keys[owner].whenUnpublishedIsReady { [self] in
                    proceed(exchange, at: operation, run: run).deliver(done)
                }
            }
        }
        return proceed(exchange, at: operation, run: run)
    }

    private func proceed(_ exchange: Exchange, at operation: Operation, run: () -> Reply) -> Reply {
        let effect = fault.effect
        if !effect.waitsForItsMoment { use() }
        var reply: Reply
        if let answer = effect.answer {
            reply = .now(Response(status: answer.status, headers: answer.headers, body: answer.body))
        } else if effect.disconnect == .beforeHeaders {
            var response = Response(status: 200)
            response.delivery = .dropped
            reply = .now(response)
        } else if let name = effect.error, let answer = operation.traits?.errors?.answer {
            use()
            let error = OperationTraits.RequestedError(
                name: name, description: effect.description, diagnosis: diagnosis)
            reply = .now(answer(error, exchange))
        } else {
            reply = run()
        }
        if effect.isMalformed { reply = reply.map { $0.malformed() } }
        if effect.disconnect == .midBody {
            reply = reply.map { response in
                var response = response
                response.delivery = .cut
                return response
            }
        }
        return effect.delay.map { reply.delayed(by: $0.duration) } ?? reply
    }

    private func rotate(_ exchange: Exchange, _ owner: KeyOwner, then goOn: @escaping @Sendable () -> Void) {
        exchange.world.keys[owner].rotate(dropping: fault.effect.rotation == .drop) { keyIDs in
            if keyIDs == nil {
                exchange.world.budget.notices.tell(
                    .keys, "an ordered rotation was left out: \(KeyGenerator.waitingLimit) wait for a key already")
            }
            goOn()
        }
    }
}
