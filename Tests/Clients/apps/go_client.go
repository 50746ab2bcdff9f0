// Signs in at an OpenID Connect issuer with go-oidc, as often as there are callbacks on the standard input. Each line of the
// output is an address to open, then what became of its callback: the claims, and those of userinfo, or why it was refused.
//
// usage: go_client ISSUER CLIENT SECRET ALGORITHM REDIRECT_URI
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/coreos/go-oidc"
	"golang.org/x/oauth2"
)

type answer struct {
	Open     string                 `json:"open,omitempty"`
	Claims   map[string]interface{} `json:"claims,omitempty"`
	UserInfo map[string]interface{} `json:"userinfo,omitempty"`
	Renewed  bool                   `json:"renewed,omitempty"`
	Refused  string                 `json:"refused,omitempty"`
}

func say(a answer) {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

func random() string {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return hex.EncodeToString(bytes)
}

func signIn(
	context context.Context, provider *oidc.Provider, verifier *oidc.IDTokenVerifier, config oauth2.Config,
	input *bufio.Scanner,
) (answer, error) {
	state, nonce := random(), random()
	say(answer{Open: config.AuthCodeURL(state, oidc.Nonce(nonce))})
	if !input.Scan() {
		os.Exit(0)
	}
	callback, err := url.Parse(input.Text())
	if err != nil {
		return answer{}, err
	}
	if callback.Query().Get("state") != state {
		return answer{}, errors.New("another state")
	}
	token, err := config.Exchange(context, callback.Query().Get("code"))
	if err != nil {
		return answer{}, err
	}
	text, _ := token.Extra("id_token").(string)
	idToken, err := verifier.Verify(context, text)
	if err != nil {
		return answer{}, err
	}
	if idToken.Nonce != nonce {
		return answer{}, errors.New("another nonce")
	}
	if err = idToken.VerifyAccessToken(token.AccessToken); err != nil {
		return answer{}, err
	}
	var found answer
	if err = idToken.Claims(&found.Claims); err != nil {
		return answer{}, err
	}
	// Expired, as far as the library knows: it fetches another token first.
	expired := *token
	expired.Expiry = time.Unix(1, 0)
	renewed, err := config.TokenSource(context, &expired).Token()
	if err != nil {
		return answer{}, err
	}
	found.Renewed = renewed.AccessToken != token.AccessToken && renewed.RefreshToken != token.RefreshToken
	userInfo, err := provider.UserInfo(context, oauth2.StaticTokenSource(renewed))
	if err != nil {
		return answer{}, err
	}
	if userInfo.Subject != idToken.Subject {
		return answer{}, errors.New("userinfo of another person")
	}
	return found, userInfo.Claims(&found.UserInfo)
}

func main() {
	issuer, client, secret, algorithm, redirectURI := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	background := context.Background()
	provider, err := oidc.NewProvider(background, issuer)
	if err != nil {
		say(answer{Refused: err.Error()})
		return
	}
	config := oauth2.Config{
		ClientID: client, ClientSecret: secret, Endpoint: provider.Endpoint(), RedirectURL: redirectURI,
		Scopes: []string{oidc.ScopeOpenID, oidc.ScopeOfflineAccess, "email", "groups"},
	}
	verifier := provider.Verifier(&oidc.Config{ClientID: client, SupportedSigningAlgs: []string{algorithm}})
	input := bufio.NewScanner(os.Stdin)
	for {
		found, err := signIn(background, provider, verifier, config, input)
		if err != nil {
			found = answer{Refused: err.Error()}
		}
		say(found)
	}
}
