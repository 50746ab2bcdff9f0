import EmulatorCore
import HTTPServer
import JSON

// Quirks: organizations that restrict OAuth apps are missing in lists, and give 403 if requested directly.

extension GitHubProvider {
    private static let listRefusal = "You need at least read:org scope or user scope to list your organizations."

    static let organizationEndpoints: [RESTEndpoint] = [
        RESTEndpoint(
            "GET", "/user/orgs", "orgs/orgs#list-organizations-for-the-authenticated-user",
            .person(scopes: RESTCall.organizationScopes, permission: nil, refusal: .forbidden(listRefusal)),
            title: "their organizations"
        ) { call in
            let organizations = call.visibleOrganizations()
            let active = organizations.shown.filter { Membership($0).isMember(call.viewer.account) }
            return keepingBack(
                organizations.keptBack,
                in: call.list(active.map { .object(OrganizationDocument($0, call.base).simple()) }))
        },
        RESTEndpoint("GET", "/users/:login/orgs", "orgs/orgs#list-organizations-for-a-user") { call in
            guard let account = call.account(login: call.parameter("login")) else {
                return call.notFound(because: "no user has the login \(Diagnosis.quote(call.parameter("login")))")
            }
            let shown = call.directory.organizations(of: account).filter { Membership($0).isPublicMember(account) }
            return call.list(shown.map { .object(OrganizationDocument($0, call.base).simple()) })
        },
        RESTEndpoint("GET", "/orgs/:org", "orgs/orgs#get-an-organization") { call in
            find(call) { organization in
                .ok(OrganizationDocument(organization, call.base).full(), lastModified: organization.updatedAt.text)
            }
        },
        // GitHub redirects to this path, with the number, if an organization has been renamed.
        RESTEndpoint(
            "GET", "/organizations/:id", "orgs/orgs#get-an-organization",
            source: .chosen("GitHub's own links and redirects have this address, and no page describes it")
        ) { call in
            guard let organization = Int(call.parameter("id")).flatMap({ call.directory.organization(number: $0) })
            else { return call.notFound(because: "no organization has this ID") }
            return .ok(OrganizationDocument(organization, call.base).full(), lastModified: organization.updatedAt.text)
        },
    ]

    /// Returns the response for the GitHub organization in the request's path. If `isRestricted` is true, the
    /// organization's restrictions on apps and tokens are checked.
    static func find(
        _ call: RESTCall, isRestricted: Bool = false, _ answer: (GitHubSection.Organization) -> RESTAnswer
    ) -> RESTAnswer {
        guard let organization = call.directory.organization(call.parameter("org")) else {
            let name = call.parameter("org")
            return call.notFound(
                because:
                    "no organization \(Diagnosis.quote(name)) is configured in the seed\(call.directory.hint(forOrganization: name))"
            )
        }
        if isRestricted, let restriction = call.restriction(by: organization) { return restriction }
        return answer(organization)
    }

    static func keepingBack(_ organizations: [GitHubSection.Organization], in answer: RESTAnswer)
        -> RESTAnswer
    {
        guard !organizations.isEmpty else { return answer }
        var answer = answer
        let ids = organizations.map { String($0.id) }.joined(separator: ",")
        answer.headers.append((name: "X-GitHub-SSO", value: "partial-results; organizations=\(ids)"))
        return answer
    }
}

// Quirks: membership is answered only by the status: 204 for a member, 404 otherwise, and 302 to the public list for
// callers who may not see members.

extension GitHubProvider {
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
                guard let account = call.viewer.account else {
                    return call.notFound(because: "no user is signed in: send a user's access token")
                }
                return membership(of: account, in: organization, call).map { .ok($0) }
                    ?? call.notFound(
                        because:
                            "the user \"\(account.github.login)\" isn't a member of the organization \"\(organization.login)\""
                    )
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
                    : call.notFound(
                        because:
                            "no user with this login is a public member of the organization \"\(organization.login)\"")
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
                    ).because("only members of the organization \"\(organization.login)\" may ask")
                }
                let account = call.account(login: call.parameter("login"))
                return account.flatMap { membership(of: $0, in: organization, call) }.map { .ok($0) }
                    ?? call.notFound(
                        because: "no user with this login is a member of the organization \"\(organization.login)\"")
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
        return call.list(shown) { .object(UserDocument($0, call.base).simple()) }
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
                        "the user \(Diagnosis.quote(call.parameter("login"))) isn't a member of the organization \"\(organization.login)\""
                )
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

struct Membership: Sendable {
    enum State: String, Sendable {
        case active
        case pending
    }

    let organization: GitHubSection.Organization

    init(_ organization: GitHubSection.Organization) { self.organization = organization }

    func state(of account: Account) -> State? {
        guard account.github.orgs.contains(where: { $0.lowercased() == organization.login.lowercased() }) else {
            return nil
        }
        return organization.pendingMembers.contains(account.id) ? .pending : .active
    }

    func isMember(_ account: Account?) -> Bool { account.map { state(of: $0) == .active } ?? false }

    func isPublicMember(_ account: Account) -> Bool {
        isMember(account) && organization.publicMembers.contains(account.id)
    }

    func role(of account: Account) -> String { organization.owners.contains(account.id) ? "admin" : "member" }
}

extension RESTCall {
    /// Whether the caller may list the members of a GitHub organization. The caller must be a member, and the token
    /// must be allowed to read organizations.
    func seesMembers(of membership: Membership) -> Bool {
        membership.isMember(viewer.account) && viewer.may(RESTCall.organizationScopes, permission: "members")
    }

    static let organizationScopes: [GitHubScope] = [.adminOrg, .readOrg, .repo, .user, .writeOrg]

    /// Returns the error if the GitHub organization restricts OAuth apps and hasn't approved this one, or if it
    /// requires single sign-on; otherwise `nil`.
    func restriction(by organization: GitHubSection.Organization) -> RESTAnswer? {
        guard case .person(_, let app, _) = viewer else { return nil }
        if organization.hides(from: app) {
            let message =
                "Although you appear to have the correct authorization credentials, the `\(organization.login)` organization "
                + "has enabled OAuth App access restrictions, meaning that data access to third-parties is limited. For more "
                + "information on these restrictions, including how to enable this app, visit "
                + "https://docs.github.com/articles/restricting-access-to-your-organization-s-data/"
            return RESTAnswer.error(403, message, documentation)
                .because("add \"\(app.clientID)\" to approvedApps of \"\(organization.login)\" in the seed")
        }
        guard organization.samlEnforced else { return nil }
        let message =
            "Resource protected by organization SAML enforcement. You must grant your OAuth token access to this organization."
        var answer = RESTAnswer.error(403, message, documentation)
            .because("the seed says samlEnforced for \"\(organization.login)\"")
        answer.headers.append(
            (
                name: "X-GitHub-SSO",
                value: "required; url=\(base.html)/orgs/\(organization.login)/sso?authorization_request=understudy"
            ))
        return answer
    }

    /// Returns the caller's GitHub organizations that are visible with this token, and those that are hidden because
    /// they require single sign-on.
    func visibleOrganizations() -> (shown: [GitHubSection.Organization], keptBack: [GitHubSection.Organization]) {
        guard case .person(let account, let app, _) = viewer else { return ([], []) }
        let mine = directory.organizations(of: account).filter { organization in
            if let details = app.details { return details.isInstalled(at: organization.login) }
            return !organization.hides(from: app)
        }
        return (mine.filter { !$0.samlEnforced }, mine.filter(\.samlEnforced))
    }
}
