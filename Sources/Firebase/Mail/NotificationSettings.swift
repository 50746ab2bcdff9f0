import EmulatorCore
import JSON
import OAuth

/// An administrator's changes to the mails of a project, in the form of `notification` of the project's configuration.
/// <https://cloud.google.com/identity-platform/docs/reference/rest/v2/Config#NotificationConfig>
struct NotificationSettings: Codable, Sendable {
    /// The parts of a mail's template that an administrator has changed. A part that is `nil` is as in a new project.
    struct Template: Codable, Sendable, Equatable {
        var subject: String?
        var body: String?
        var bodyFormat: String?
        var senderLocalPart: String?
        var senderDisplayName: String?
        var replyTo: String?

        static let fields: [(name: String, place: any WritableKeyPath<Template, String?> & Sendable)] = [
            ("subject", \.subject), ("body", \.body), ("bodyFormat", \.bodyFormat),
            ("senderLocalPart", \.senderLocalPart), ("senderDisplayName", \.senderDisplayName),
            ("replyTo", \.replyTo),
        ]
    }

    var templates: [String: Template] = [:]
    /// The URL of the page to which links in mails lead; `nil` if it is Firebase's own page.
    var callbackURI: String?
    var defaultLocale: String?

    /// The number of bytes of all texts in a project's mail settings.
    var size: Int {
        let texts = templates.values.flatMap { template in Template.fields.map { template[keyPath: $0.place] } }
        return (texts + [callbackURI, defaultLocale]).reduce(0) { $0 + ($1?.utf8.count ?? 0) }
    }

    /// Returns the name of a mail's template in Google's API; `nil` for a template that nobody can change.
    static func name(_ kind: OutOfBandCode.Kind) -> String? {
        switch kind {
        case .passwordReset: "resetPasswordTemplate"
        case .verifyEmail: "verifyEmailTemplate"
        case .recoverEmail: "changeEmailTemplate"
        case .revertSecondFactorAddition: "revertSecondFactorAdditionTemplate"
        case .emailSignIn, .verifyAndChangeEmail: nil
        }
    }

    func template(_ kind: OutOfBandCode.Kind) -> EmailTemplate {
        var template = EmailTemplate(kind)
        guard let name = NotificationSettings.name(kind), let own = templates[name] else { return template }
        if let subject = own.subject { template.subject = subject }
        if let body = own.body { template.body = own.bodyFormat == "PLAIN_TEXT" ? .plainText(body) : .html(body) }
        if let part = own.senderLocalPart { template.senderLocalPart = part }
        template.senderDisplayName = own.senderDisplayName
        if let replyTo = own.replyTo { template.replyTo = replyTo }
        return template
    }
}

extension NotificationSettings {
    /// Returns the mail settings with the changes of an administrator's request. The update mask names the fields to
    /// change. Without a mask, all fields in the body are changed.
    ///
    /// - Throws: `INVALID_ARGUMENT`. The values that production refuses aren't documented.
    func changed(by given: MessageFields?, _ mask: UpdateMask?) throws(FirebaseError) -> NotificationSettings {
        var settings = self
        let mail = try given?.nested("sendEmail")
        if try NotificationSettings.sets("defaultLocale", given, "notification", mask) {
            settings.defaultLocale = try given?.text("defaultLocale")
        }
        if try NotificationSettings.sets("callbackUri", mail, "notification.sendEmail", mask) {
            settings.callbackURI = try NotificationSettings.checkedURL(mail?.text("callbackUri"))
        }
        for name in OutOfBandCode.Kind.allCases.compactMap({ NotificationSettings.name($0) }) {
            let template = try mail?.nested(name)
            var own = settings.templates[name] ?? Template()
            for (field, place) in Template.fields
            where try NotificationSettings.sets(field, template, "notification.sendEmail.\(name)", mask) {
                own[keyPath: place] = try NotificationSettings.checked(template?.text(field), field)
            }
            settings.templates[name] = own == Template() ? nil : own
        }
        return settings
    }

    private static func sets(
        _ field: String, _ given: MessageFields?, _ path: String, _ mask: UpdateMask?
    ) throws(FirebaseError) -> Bool {
        guard let mask, !mask.isFullUpdate else { return given?.has(field) ?? false }
        return mask.names("\(path).\(field)")
    }

    /// Returns the number of bytes that a field of a mail's template, such as `subject` or `body`, may have at most.
    private static func limit(_ field: String) -> Int { field == "body" ? 64 << 10 : 998 }

    private static func checked(_ text: String?, _ field: String) throws(FirebaseError) -> String? {
        guard let text else { return nil }
        guard text.utf8.count <= limit(field) else {
            throw .invalidArgument("\(field) has \(text.utf8.count) bytes; at most \(limit(field)) are taken")
        }
        if field == "bodyFormat", !["HTML", "PLAIN_TEXT"].contains(text) {
            throw .invalidArgument("bodyFormat is \(Diagnosis.quote(text)): send HTML or PLAIN_TEXT")
        }
        if field == "senderLocalPart", !TextRule.email.holds("\(text)@example.com") {
            throw .invalidArgument("senderLocalPart is \(Diagnosis.quote(text)): send only the part before the @")
        }
        return text
    }

    private static func checkedURL(_ text: String?) throws(FirebaseError) -> String? {
        guard let text else { return nil }
        guard let address = WebAddress(text), ["http", "https"].contains(address.scheme) else {
            throw .invalidArgument("callbackUri is \(Diagnosis.quote(text)): send an http or https URL")
        }
        return text
    }

    /// Returns the mail settings in the form of `notification` of the project's configuration. If `isWhole` is true,
    /// they have all members that production returns.
    func document(of project: Project, isWhole: Bool = false, withTemplates: Bool = true) -> JSONValue {
        var mail = JSONObject([
            "method": "DEFAULT", "callbackUri": callbackURI ?? "https://\(project.host)/__/auth/action",
        ])
        if isWhole {
            mail["dnsInfo"] = [
                "customDomainState": "NOT_STARTED", "domainVerificationRequestTime": "1970-01-01T00:00:00Z",
            ]
        }
        for kind in OutOfBandCode.Kind.allCases where withTemplates {
            guard let name = NotificationSettings.name(kind) else { continue }
            let template = template(kind)
            var object = JSONObject([
                "senderLocalPart": template.senderLocalPart, "subject": template.subject, "replyTo": template.replyTo,
                "senderDisplayName": template.senderDisplayName,
            ])
            // We wrote the texts of templates that nobody has changed.
            object["body"] = (templates[name]?.body ?? (isWhole ? template.body.source : nil)).map { .string($0) }
            object["bodyFormat"] = .string(templates[name]?.bodyFormat ?? "HTML")
            if templates[name] != nil { object["customized"] = true }
            mail[name] = .object(object)
        }
        return .object(
            JSONObject([
                "sendEmail": mail,
                "sendSms": isWhole
                    ? ["smsTemplate": ["content": .string(FirebaseCall.textTemplate)]] as JSONValue : nil,
                "defaultLocale": defaultLocale ?? "en",
            ]))
    }
}

extension FirebaseCall {
    func template(_ kind: OutOfBandCode.Kind) -> EmailTemplate { project.notification.template(kind) }

    /// The language tag in the links of mails, from the client (`auth.languageCode`) or the project's default; `en` if
    /// there is no valid tag. The texts of mails don't depend on the tag.
    var locale: String {
        let wanted = exchange.request.header("X-Firebase-Locale") ?? project.notification.defaultLocale ?? "en"
        let isTag =
            !wanted.isEmpty && wanted.utf8.count <= 35
            && wanted.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) || $0 == 0x2D }
        return isTag ? wanted : "en"
    }
}
