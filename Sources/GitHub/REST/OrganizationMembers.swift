import HTTPServer
import JSON
import EmulatorCore

// https://docs.github.com/rest/orgs/members
//
// Quirks: membership is answered only by the status: 204 for a member, 404 otherwise, and 302 to the public list for
// callers who may not see members.

extension GitHubProvider {
    // This isn't documented word for word.
    private static let membershipRefusal =
        "You need at least read:org scope or user scope to get information on your organization memberships."

    static let memberEndpoints: [RESTEndpoint] = [
        RESTEndpoint(
            "GET", "/user/memberships/orgs", "orgs/members#list-organization-memberships-for-the-authenticated-user",
            .person(scopes: RESTCall.organizationScopes, permission: "members", refusal: .forbidden(membershipRefusal))
        ) { call in
            let wanted = call.exchange.request.queryForm["state"]
            let organizations = call.visibleOrganizations()
            let memberships = organizations.shown.compactMap { organization -> JSONValue? in
                guard let account = call.viewer.account, let state = Membership(organization).state(of: account),
                    wanted.map({ $0 == state.rawValue }) ?? true
                else { return nil }
                return membership(of: account, in: organization, call)
            }
            return keepingBack(organizations.keptBack, in: call.list(memberships))
        },
        RESTEndpoint(
            "GET", "/user/memberships/orgs/:org",
            "orgs/members#get-an-organization-membership-for-the-authenticated-user",
            .person(scopes: RESTCall.organizationScopes, permission: "members", refusal: .forbidden(membershipRefusal))
        ) { call in
            find(call, isRestricted: true) { organization in
                guard let account = call.viewer.account else { return call.notFound(because: "nobody is signed in") }
                return membership(of: account, in: organization, call).map { .ok($0) }
                    ?? call.notFound(because: "\"\(account.github.login)\" doesn't belong to \"\(organization.login)\"")
            }
        },
        RESTEndpoint(
            "GET", "/orgs/:org/members", "orgs/members#list-organization-members", accepted: RESTCall.organizationScopes
        ) { call in
            find(call, isRestricted: true) { organization in
                let seesAll = call.seesMembers(of: Membership(organization))
                return members(of: organization, call) { seesAll || Membership(organization).isPublicMember($0) }
            }
        },
        RESTEndpoint(
            "GET", "/orgs/:org/members/:login", "orgs/members#check-organization-membership-for-a-user",
            accepted: RESTCall.organizationScopes, isEmpty: true
        ) {
            checkMember($0)
        },
        RESTEndpoint("GET", "/orgs/:org/public_members", "orgs/members#list-public-organization-members") { call in
            find(call) { organization in members(of: organization, call) { Membership(organization).isPublicMember($0) }
            }
        },
        RESTEndpoint(
            "GET", "/orgs/:org/public_members/:login",
            "orgs/members#check-public-organization-membership-for-a-user", isEmpty: true
        ) { call in
            find(call) { organization in
                let account = call.account(login: call.parameter("login"))
                return account.map { Membership(organization).isPublicMember($0) } ?? false
                    ? .noContent
                    : call.notFound(because: "nobody of that login is a public member of \"\(organization.login)\"")
            }
        },
        RESTEndpoint(
            "GET", "/orgs/:org/memberships/:login", "orgs/members#get-organization-membership-for-a-user",
            .person(scopes: RESTCall.organizationScopes, permission: "members", refusal: .forbidden(membershipRefusal))
        ) { call in
            find(call, isRestricted: true) { organization in
                guard Membership(organization).isMember(call.viewer.account) else {
                    return RESTAnswer.error(
                        403,
                        "You must be a member of \(organization.login) to see membership information for \(call.parameter("login")).",
                        call.documentation
                    ).because("only members of \"\(organization.login)\" may ask")
                }
                let account = call.account(login: call.parameter("login"))
                return account.flatMap { membership(of: $0, in: organization, call) }.map { .ok($0) }
                    ?? call.notFound(because: "nobody of that login belongs to \"\(organization.login)\"")
            }
        },
    ]

    private static func members(
        of organization: GitHubSection.Organization, _ call: RESTCall, where isShown: (Account) -> Bool
    ) -> RESTAnswer {
        let accounts = call.exchange.world.read {
            $0.rows(Account.byIdentifier, "github.org:\(organization.login.lowercased())")
        }
        let role = call.exchange.request.queryForm["role"] ?? "all"
        let shown = accounts.filter { account in
            Membership(organization).isMember(account) && isShown(account)
                && (role == "all" || role == Membership(organization).role(of: account))
        }
        return call.list(shown.map { .object(UserDocument($0, call.base).simple()) })
    }

    private static func checkMember(_ call: RESTCall) -> RESTAnswer {
        find(call, isRestricted: true) { organization in
            let membership = Membership(organization)
            guard call.seesMembers(of: membership) else {
                let place = "\(call.base.api)/orgs/\(organization.login)/public_members/\(call.parameter("login"))"
                return RESTAnswer(
                    status: 302, body: nil, headers: [(name: "Location", value: place)],
                    note: Note(
                        "only members of \"\(organization.login)\" with read:org see who else is one; the public list follows"
                    ))
            }
            let account = call.account(login: call.parameter("login"))
            return membership.isMember(account)
                ? .noContent
                : call.notFound(
                    because:
                        "\(Diagnosis.quote(call.parameter("login"))) isn't a member of \"\(organization.login)\"")
        }
    }

    private static func membership(
        of account: Account, in organization: GitHubSection.Organization, _ call: RESTCall
    ) -> JSONValue? {
        let membership = Membership(organization)
        guard let state = membership.state(of: account) else { return nil }
        let url = "\(call.base.api)/orgs/\(organization.login)"
        return [
            "url": .string("\(url)/memberships/\(account.github.login)"), "state": .string(state.rawValue),
            "role": .string(membership.role(of: account)), "organization_url": .string(url),
            "user": .object(UserDocument(account, call.base).simple()),
            "organization": .object(OrganizationDocument(organization, call.base).simple()),
        ]
    }
}
