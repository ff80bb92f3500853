package rest

import "github.com/gallop-http/gallop"

// RaceEnabled is whether this is a race build.
const RaceEnabled = poisons

// CredentialOf returns what tells who asks by r.
func CredentialOf(r *Request) (func() string, error) {
	x, err := r.exchange()
	return x.credentialOf, err
}

// DefaultClient returns the gallop.Client of a Client without WithClient and WithTransport.
func DefaultClient() *gallop.Client { return newGallopTransport(nil).client }
