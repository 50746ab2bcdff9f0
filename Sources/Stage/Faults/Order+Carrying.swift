import HTTPServer

extension Order {
    /// Answers in the endpoint's place, or does to its answer what was ordered.
    func carryOut(_ exchange: Exchange, at route: Route, run: () -> Reply) -> Reply {
        let effect = fault.effect
        if !effect.waitsForItsMoment { use() }
        if effect.rotation != nil { rotate(exchange, at: route) }
        var reply: Reply
        if let answer = effect.answer {
            reply = .now(Response(status: answer.status, headers: answer.headers, body: answer.body))
        } else if effect.disconnect == .beforeHeaders {
            var response = Response(status: 200)
            response.delivery = .dropped
            reply = .now(response)
        } else if let name = effect.error, let answer = route.traits?.errors?.answer {
            use()
            let error = EndpointTraits.OrderedError(
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

    private func rotate(_ exchange: Exchange, at route: Route) {
        guard let owner = route.traits?.mints ?? route.traits?.publishes else { return }
        do { _ = try exchange.world.keys[owner].rotate(dropping: fault.effect.rotation == .drop) } catch {
            exchange.log("the keys can't be rotated: \(error.description)", detail: "")
        }
    }
}
