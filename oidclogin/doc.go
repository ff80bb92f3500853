// Package oidclogin logs users in with OpenID Connect, at a provider such as Keycloak, Google or Microsoft Entra ID:
//
//	sessions := &middleware.Session[User]{}
//	auth := oidclogin.New(oidclogin.Config{
//		Issuer:       "https://login.example.com",
//		ClientID:     "shop",
//		ClientSecret: secret,
//		RedirectURL:  "https://shop.example.com/login/callback",
//		Keys:         [][]byte{key},
//		Login: oidclogin.StartSession(sessions, func(c *web.Ctx, id *oidclogin.Identity) (user User, err error) {
//			return user, id.Claims(&user)
//		}),
//	})
//	app.Use(sessions)
//	app.Get("/login", auth.Begin())
//	app.Get("/login/callback", auth.Callback())
//
// A link to /login?return=/cart starts a login. The browser goes to the provider, the user logs in there, and the provider sends the
// browser back to the callback. The callback checks the response, fetches the ID token, calls Config.Login and redirects to /cart. To
// start a login when a page needs one, call [Login.Redirect].
//
// # Security
//
// Each login has a state, a nonce and a PKCE challenge (RFC 7636, S256), derived from 256 random bits. The random bits are kept in an
// encrypted cookie of the browser. The callback accepts only a login that the same browser has begun, for the same issuer and client, and
// only once. A user can log in from several tabs at the same time.
//
// If the response of the provider has the parameter "iss" (RFC 9207), the parameter must match. If the provider announces the parameter,
// the parameter is required. The signature algorithm of an ID token must be asymmetric and must be one that the provider announces.
//
// A login redirects only to paths of this site. Requests to the provider have a time limit and a size limit and follow no redirects.
//
// # When the provider is down
//
// New does not contact the provider, so a program starts without the provider. The first login reads the provider's metadata. If that
// fails, logins get status 503 with Retry-After, and later logins try again after a pause of 1 to 30 seconds. The metadata is read again
// every hour. If reading fails then, the old metadata stays in use.
//
// # Logout
//
// [Login.Logout] ends the session here and at the provider (RP-initiated logout). [Login.BackChannel] accepts logout tokens from the
// provider, which end the sessions of a user here when the user logs out somewhere else.
//
// Tokens are verified by github.com/coreos/go-oidc, and golang.org/x/oauth2 exchanges the code.
//
// Source files:
//
//	config.go      the settings
//	login.go       the start of a login
//	pending.go     the cookie of a login that has begun
//	callback.go    the response of the provider
//	token.go       the checks of the ID token, and Identity
//	logout.go      logout at this site, at the provider and from the provider
//	provider.go    the provider's metadata
//	transport.go   the limits of requests to the provider
//	errors.go      errors, and their statuses
package oidclogin
