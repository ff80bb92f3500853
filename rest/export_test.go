package rest

// RaceEnabled is whether this is a race build.
const RaceEnabled = poisons

// CredentialOf returns what tells who asks by r.
func CredentialOf(r *Request) (func() string, error) {
	x, err := r.exchange()
	return x.credentialOf, err
}
