import HTTPServer
import JSON
import EmulatorCore

// The endpoints /emulator/v1/projects/P/… and /emulator/openapi.json:
// https://firebase.google.com/docs/reference/rest/auth#section-auth-emulator
//
// Test suites written for the Emulator Suite call these: they clear the users, change two settings, and read the codes
// that were sent. No credentials are needed, except the control token of a daemon that has one: tests call these, never
// the app.

extension FirebaseProvider {
    var emulatorEndpoints: [Endpoint] {
        ["", "/tenants/:tenant"].flatMap { outboxEndpoints(below: "/emulator/v1/projects/:project\($0)") }
            + configEndpoints("/emulator/v1/projects/:project/config") + [
                Endpoint("GET", [], "/emulator/openapi.json", cors: .any) { _ in specification }
            ]
    }

    private func outboxEndpoints(below scope: String) -> [Endpoint] {
        [
            endpoint(
                "DELETE", "\(scope)/accounts",
                run: FirebaseProvider.aside { call in
                    try call.exchange.world.deleteUsers(of: call.pool)
                    return FirebaseAnswer.empty
                }),
            endpoint("GET", "\(scope)/oobCodes") { call in
                let (mails, now) = call.read { ($0.rows(OutOfBandCode.byPool, call.pool), $0.now) }
                // The official emulator doesn't list mails about new second factors.
                let valid = mails.filter {
                    !$0.isUsed && $0.expires > now && $0.kind != .revertSecondFactorAddition
                }
                return FirebaseAnswer(["oobCodes": valid.map(\.json)])
            },
            endpoint("GET", "\(scope)/verificationCodes") { call in
                let (codes, now) = call.read { ($0.rows(PhoneCode.byPool, call.pool), $0.now) }
                let valid = codes.filter { !$0.isUsed && $0.expires > now }
                return FirebaseAnswer(["verificationCodes": valid.map(\.json)])
            },
        ].map(\.managing)
    }

    private func configEndpoints(_ path: String) -> [Endpoint] {
        [
            endpoint("GET", path) { call in
                FirebaseAnswer(body: FirebaseProvider.emulatorConfig(of: call.project))
            },
            endpoint("PATCH", path) { call in
                let project = try change(call, nil).apply(to: call.project)
                return FirebaseAnswer(body: FirebaseProvider.emulatorConfig(of: project))
            }.managing,
        ]
    }

    private func endpoint(
        _ method: String, _ path: String, run: @escaping Method
    ) -> Endpoint {
        Endpoint(method, [], path, cors: .any) { exchange in
            do {
                let call = try adminCall(exchange, isOpen: true)
                return FirebaseProvider.json(.object(try await run(call).body))
            } catch let error as FirebaseError {
                return error.response(.list)
            }
        }
    }

    /// The list of the Firebase API's paths and methods in OpenAPI's form, like the Emulator Suite's `apiSpec`, but
    /// without schemas. Endpoints at the projects' own domains are left out.
    private var specification: Response {
        let endpoints = endpoints
        var paths = JSONObject()
        func add(_ endpoint: Endpoint, at prefix: String) {
            let place = prefix + endpoint.path
            var methods = paths[place]?.object ?? JSONObject()
            methods[endpoint.method.lowercased()] = ["responses": ["200": ["description": "OK"]]]
            paths[place] = .object(methods)
        }
        for endpoint in endpoints where endpoint.hosts.isEmpty { add(endpoint, at: "") }
        for host in hosts.sorted() where !host.contains("*") {
            for endpoint in endpoints where endpoint.hosts.contains(host) { add(endpoint, at: "/\(host)") }
        }
        return FirebaseProvider.json([
            "openapi": "3.0.0", "info": ["title": "Firebase Authentication, as Understudy plays it", "version": "1"],
            "paths": .object(paths),
        ])
    }
}
