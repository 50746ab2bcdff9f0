import HTTPServer
import JSON
import EmulatorCore

// /emulator/v1/projects/P/…, /emulator/openapi.json
// https://firebase.google.com/docs/reference/rest/auth#section-auth-emulator
//
// What test suites written for the Emulator Suite call: clear the users, change two settings, read the codes that were
// sent. No credentials are asked for.

extension FirebaseProvider {
    func addEmulatorRoutes(to router: inout Router<Route>) {
        for scope in ["", "/tenants/:tenant"] {
            let base = "/emulator/v1/projects/:project\(scope)"
            add("DELETE", "\(base)/accounts", to: &router) { (call) throws(FirebaseError) in
                call.update { state, _ in state.removeAllUsers() }
                return FirebaseAnswer(body: JSONObject())
            }
            add("GET", "\(base)/oobCodes", to: &router) { (call) throws(FirebaseError) in
                let mails = call.update { state, context in
                    state.outbox.mails.filter { !$0.isUsed && $0.expires > context.now }
                }
                return FirebaseAnswer(body: JSONObject([("oobCodes", .array(mails.map(\.json)))]))
            }
            add("GET", "\(base)/verificationCodes", to: &router) { (call) throws(FirebaseError) in
                let messages = call.update { state, context in
                    state.outbox.messages.filter { !$0.isUsed && $0.expires > context.now }
                }
                return FirebaseAnswer(body: JSONObject([("verificationCodes", .array(messages.map(\.json)))]))
            }
        }
        add("GET", "/emulator/v1/projects/:project/config", to: &router) { [self] (call) throws(FirebaseError) in
            emulatorConfig(call)
        }
        add("PATCH", "/emulator/v1/projects/:project/config", to: &router) { [self] (call) throws(FirebaseError) in
            _ = try updateConfig(call)
            let settings = call.exchange.world.update { $0[FirebaseState.self].settings[call.project.id] }
            let project = settings?.apply(to: call.project) ?? call.project
            return emulatorConfig(FirebaseCall(call.exchange, project: project, body: JSONObject()))
        }
        router.add("GET", "/emulator/openapi.json", Route(cors: .any) { _ in .now(specification) })
    }

    private func add(
        _ method: String, _ path: String, to router: inout Router<Route>,
        run: @escaping @Sendable (FirebaseCall) throws(FirebaseError) -> FirebaseAnswer
    ) {
        router.add(
            method, path,
            Route(cors: .any) { exchange in
                do throws(FirebaseError) {
                    let call = try adminCall(exchange, isOpen: true)
                    return .now(FirebaseProvider.json(.object(try run(call).body)))
                } catch {
                    return .now(error.response(.list))
                }
            })
    }

    /// What is served here, as the Emulator Suite's `apiSpec` names it: paths and methods, no schemas.
    private var specification: Response {
        var paths = JSONObject()
        for (host, router) in routes.sorted(by: { $0.key < $1.key }) where !host.contains("*") {
            for (method, path, _) in router.served {
                let place = "\(host.isEmpty ? "" : "/\(host)")\(path)"
                var methods = paths[place]?.object ?? JSONObject()
                methods[method.lowercased()] = ["responses": ["200": ["description": "OK"]]]
                paths[place] = .object(methods)
            }
        }
        return FirebaseProvider.json([
            "openapi": "3.0.0", "info": ["title": "Firebase Authentication, as Understudy plays it", "version": "1"],
            "paths": .object(paths),
        ])
    }
}
