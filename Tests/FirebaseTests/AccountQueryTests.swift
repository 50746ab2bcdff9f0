import Foundation
import TestSupport
import Testing

@Suite("Firebase: an administrator's lists and queries of users")
struct AccountQueryTests {
    let fixture: FirebaseFixture

    init() throws {
        fixture = try FirebaseFixture(seed: #"{"clock": {"freeze": true}}"#)
        for (id, name, email, number) in [
            ("u3", "Ada", "z@example.org", "+15555550103"), ("u1", "Charles", "y@example.org", "+15555550101"),
            ("u2", "Grace", "X@example.org", "+15555550102"),
        ] {
            let made = try fixture.admin(
                "POST", "/accounts", ["localId": id, "displayName": name, "email": email, "phoneNumber": number])
            #expect(made.status == 200, "\(made.text)")
            try fixture.advance("1s")
        }
    }

    private func query(_ body: [String: Any]) throws -> (ids: [String], count: String?) {
        let answer = try fixture.admin("POST", "/accounts:query", body)
        let users = answer.json["userInfo"] as? [[String: Any]] ?? []
        return (users.compactMap { $0["localId"] as? String }, answer["recordsCount"])
    }

    @Test(
        "an expression finds by address in any case, by number and by ID; the first one counts, and its first field",
        arguments: [
            (#"[{"email": "x@EXAMPLE.org"}]"#, ["u2"]), (#"[{"phoneNumber": "+15555550103"}]"#, ["u3"]),
            (#"[{"userId": "u1"}]"#, ["u1"]), (#"[{"userId": "U1"}]"#, []), (#"[{"email": "nobody@example.org"}]"#, []),
            (#"[{"userId": "u1", "email": "x@example.org"}]"#, ["u2"]),
            (#"[{"userId": "u1"}, {"userId": "u2"}]"#, ["u1"]), (#"[{"user_id": "u1"}]"#, ["u1"]),
            (#"[]"#, ["u1", "u2", "u3"]), (#"[{}]"#, ["u1", "u2", "u3"]),
        ] as [(String, [String])])
    func expressions(text: String, wanted: [String]) throws {
        let expression = try JSONSerialization.jsonObject(with: Data(text.utf8))
        let found = try query(["expression": expression])
        #expect(found.ids == wanted)
        #expect(found.count == String(wanted.count))
        let counted = try query(["expression": expression, "returnUserInfo": false])
        #expect(counted.ids.isEmpty)
        #expect(counted.count == String(wanted.count))
    }

    @Test(
        "users are sorted by a field, either way, and a part of them is returned",
        arguments: [
            (["sortBy": "USER_ID"], ["u1", "u2", "u3"]), (["order": "DESC"], ["u3", "u2", "u1"]),
            (["sortBy": "NAME"], ["u3", "u1", "u2"]), (["sortBy": "CREATED_AT"], ["u3", "u1", "u2"]),
            (["sortBy": "USER_EMAIL", "order": "ASC"], ["u2", "u1", "u3"]),
            (["sortBy": "2", "order": "2"], ["u2", "u1", "u3"]),
            (["limit": "2"], ["u1", "u2"]), (["limit": "2", "offset": "1"], ["u2", "u3"]),
            (["sortBy": "NAME", "limit": "1", "offset": "1"], ["u1"]), (["offset": "9223372036854775807"], []),
            (["limit": "0"], []), (["sortBy": "SORT_BY_FIELD_UNSPECIFIED"], ["u1", "u2", "u3"]),
        ] as [([String: String], [String])])
    func orders(body: [String: String], wanted: [String]) throws { #expect(try query(body).ids == wanted) }

    @Test(
        "what can't be meant is refused",
        arguments: [["sortBy": "AGE"], ["sortBy": "9"], ["order": "UP"], ["limit": "-1"], ["offset": "-1"]])
    func refusals(body: [String: String]) throws {
        // A number below zero is the service's own failure (auth-account, admin/query#negative-offset).
        let isNumber = body["limit"] != nil || body["offset"] != nil
        #expect(try fixture.admin("POST", "/accounts:query", body).status == (isNumber ? 500 : 400))
    }

    @Test("a full page of batchGet has a token, though nobody may come after it")
    func pages() throws {
        var ids: [[String]] = []
        var token: String? = ""
        while let place = token, ids.count < 5 {
            let page = try fixture.admin("GET", "/accounts:batchGet?maxResults=1&nextPageToken=\(place)")
            ids.append((page.json["users"] as? [[String: Any]] ?? []).compactMap { $0["localId"] as? String })
            token = page["nextPageToken"]
        }
        #expect(ids == [["u1"], ["u2"], ["u3"], []])
        #expect(try fixture.admin("GET", "/accounts:batchGet?maxResults=3")["nextPageToken"] == "u3")
        #expect(try fixture.admin("GET", "/accounts:batchGet?maxResults=4")["nextPageToken"] == nil)
    }
}
