// golang.org/x/oauth2 with the endpoints that it brings along: someone signs in at Google, GitHub and Facebook. Prints who.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/endpoints"
)

const callback = "http://localhost:3000/callback"

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func order(body string) {
	answer, err := http.Post(os.Getenv("UNDERSTUDY_CONTROL_URL")+"/outcomes", "application/json", strings.NewReader(body))
	must(err)
	answer.Body.Close()
	if answer.StatusCode >= 300 {
		panic(answer.Status)
	}
}

// The person's browser, as far as the callback.
func visit(address string) url.Values {
	var back *url.URL
	arrived := errors.New("arrived")
	browser := http.Client{CheckRedirect: func(request *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(request.URL.String(), callback) {
			back = request.URL
			return arrived
		}
		return nil
	}}
	if _, err := browser.Get(address); !errors.Is(err, arrived) {
		panic(fmt.Sprintf("%s didn't lead back: %v", address, err))
	}
	return back.Query()
}

func main() {
	for _, one := range []struct {
		name, client, secret, profile, member string
		scopes                                []string
		endpoint                              oauth2.Endpoint
	}{
		{"google", "example.apps.googleusercontent.com", "google-secret-for-tests",
			"https://openidconnect.googleapis.com/v1/userinfo", "email", []string{"openid", "email"}, endpoints.Google},
		{"github", "Iv1.0123456789abcdef", "github-secret-for-tests",
			"https://api.github.com/user", "login", []string{"read:user"}, endpoints.GitHub},
		{"facebook", "1234567890", "facebook-secret-for-tests",
			"https://graph.facebook.com/me?fields=id,name", "name", []string{"public_profile"}, endpoints.Facebook},
	} {
		order(fmt.Sprintf(`{"provider":%q,"outcome":"approve","account":"ada"}`, one.name))
		config := oauth2.Config{
			ClientID: one.client, ClientSecret: one.secret, Endpoint: one.endpoint, RedirectURL: callback, Scopes: one.scopes}
		back := visit(config.AuthCodeURL("a state of this sign-in"))
		if back.Get("state") != "a state of this sign-in" {
			panic("state")
		}
		token, err := config.Exchange(context.Background(), back.Get("code"))
		must(err)
		answer, err := config.Client(context.Background(), token).Get(one.profile)
		must(err)
		body, err := io.ReadAll(answer.Body)
		must(err)
		var person map[string]interface{}
		must(json.Unmarshal(body, &person))
		fmt.Println(one.name, person[one.member])
	}
}
