import HTTPServer
import JSON

extension AppliedFault {
    /// Carries the fault out: answers in place of the endpoint, or changes its answer. Waiting for a key to be made
    /// blocks no thread.
    func carryOut(
        _ exchange: Exchange, at endpoint: Endpoint, or refusal: @escaping @Sendable (any Error) -> Response,
        run: @escaping @Sendable () -> Reply
    ) -> Reply {
        if fault.effect.rotation != nil, let owner = endpoint.traits?.mints ?? endpoint.traits?.publishes {
            return .running { [self] in
                do throws(StoreFailure) { try await rotate(exchange, owner) } catch { return refusal(error) }
                return await proceed(exchange, at: endpoint, or: refusal, run: run).response
            }
        }
        if fault.effect.token?.signature == .unknownKey, let owner = endpoint.traits?.mints {
            return .later { [self] done in
                exchange.world.keys[owner].whenUnpublishedIsReady { [self] in
                    proceed(exchange, at: endpoint, or: refusal, run: run).deliver(done)
                }
            }
        }
        return proceed(exchange, at: endpoint, or: refusal, run: run)
    }

    private func proceed(
        _ exchange: Exchange, at endpoint: Endpoint, or refusal: (any Error) -> Response, run: () -> Reply
    ) -> Reply {
        let effect = fault.effect
        if !effect.waitsForItsMoment { use() }
        var reply: Reply
        if let answer = effect.answer {
            reply = .now(Response(status: answer.status, headers: answer.headers, body: answer.body))
        } else if effect.disconnect == .beforeHeaders {
            var response = Response(status: 200)
            response.delivery = .dropped
            reply = .now(response)
        } else if let name = effect.error, let answer = endpoint.traits?.errors?.answer {
            use()
            let error = EndpointTraits.RequestedError(
                name: name, description: effect.description, diagnosis: diagnosis)
            do { reply = .now(try answer(error, exchange)) } catch { reply = .now(refusal(error)) }
        } else {
            reply = run()
        }
        if !effect.response.isEmpty { reply = reply.map { [self] in changed($0) } }
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

    /// Returns the answer with changed members. A refusal, or an answer without members, is unchanged, and the fault
    /// isn't used up.
    private func changed(_ response: Response) -> Response {
        guard (200..<300).contains(response.status), response.header(Diagnosis.headerName) == nil,
            let body = AppliedFault.changed(response, fault.effect.response)
        else { return response }
        use()
        var response = response
        response.body = body
        return response
    }

    /// Returns the body with changed members; in a list, those of each object. Returns `nil` for a body without
    /// members, or with an error.
    private static func changed(_ response: Response, _ members: [(name: String, value: JSONValue)]) -> [UInt8]? {
        let type = response.header("Content-Type")?.mediaType ?? ""
        if type == "application/x-www-form-urlencoded" {
            var form = Form(parsing: response.body)
            guard form["error"] == nil else { return nil }
            for (name, value) in members {
                let field = Form.Field(name: name, value: value.string ?? value.text)
                let place = form.fields.firstIndex { $0.name == name }
                form.fields.removeAll { $0.name == name }
                if !value.isNull { form.fields.insert(field, at: min(place ?? .max, form.fields.count)) }
            }
            return Array(form.encoded.utf8)
        }
        switch try? JSONValue(parsing: response.body, limits: .answer) {
        case .object(let object)? where object["error"] == nil:
            return JSONValue.object(AppliedFault.changed(object, members)).serialized()
        case .array(let list)? where list.contains { $0.object != nil }:
            return JSONValue.array(list.map { $0.object.map { .object(AppliedFault.changed($0, members)) } ?? $0 })
                .serialized()
        default: return nil
        }
    }

    private static func changed(_ object: JSONObject, _ members: [(name: String, value: JSONValue)]) -> JSONObject {
        var object = object
        for (name, value) in members { object[name] = value.isNull ? nil : value }
        return object
    }

    private func rotate(_ exchange: Exchange, _ owner: KeyOwner) async throws(StoreFailure) {
        guard try await exchange.world.keys[owner].rotate(dropping: fault.effect.rotation == .drop) == nil else {
            return
        }
        exchange.world.budget.notices.tell(
            .keys, "an ordered rotation was left out: \(KeyGenerator.waitingLimit) wait for a key already")
    }
}
