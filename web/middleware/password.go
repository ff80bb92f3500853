package middleware

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	passwordScheme = "pbkdf2-sha256"
	passwordRounds = 600_000 // OWASP's advice
	minRounds      = 10_000
	maxRounds      = 10_000_000
	saltSize       = 16
)

// HashPassword returns a hash of a password for [BasicAuth.Users] and [CheckPassword]. The hash is made with PBKDF2, HMAC-SHA-256, 600,000 rounds and a random
// salt. It looks like "pbkdf2-sha256$600000$salt$hash". HashPassword needs a few tenths of a second of processor time.
func HashPassword(password string) string {
	p := passwordHash{rounds: passwordRounds}
	rand.Read(p.salt[:])
	p.sum = p.of(password)
	return strings.Join([]string{
		passwordScheme, strconv.Itoa(p.rounds), base64.RawStdEncoding.EncodeToString(p.salt[:]), base64.RawStdEncoding.EncodeToString(p.sum[:]),
	}, "$")
}

// CheckPassword reports whether a hash is a result of [HashPassword] for this password. Call it in the handler of a login form. Pass an
// empty hash for a user who does not exist: CheckPassword then takes as long as for other users, so clients cannot find out which users
// exist. CheckPassword needs a few tenths of a second of processor time, so put a [Limiter] before the handler.
func CheckPassword(hash, password string) bool {
	p, err := parsePassword(hash)
	if err != nil {
		p.rounds = passwordRounds
	}
	return p.matches(password) && err == nil
}

// passwordHash is what HashPassword returns, parsed.
type passwordHash struct {
	rounds int
	salt   [saltSize]byte
	sum    [sha256.Size]byte
}

// parsePassword reads a result of HashPassword. The number of rounds may differ, so that it can grow over the years.
func parsePassword(text string) (p passwordHash, err error) {
	parts := strings.Split(text, "$")
	if len(parts) != 4 || parts[0] != passwordScheme {
		return p, errors.New("it does not have the form pbkdf2-sha256$rounds$salt$hash")
	}
	if p.rounds, err = strconv.Atoi(parts[1]); err != nil || p.rounds < minRounds || p.rounds > maxRounds {
		return p, fmt.Errorf("the number of rounds is not between %d and %d", minRounds, maxRounds)
	}
	if !decodeExactly(p.salt[:], parts[2]) || !decodeExactly(p.sum[:], parts[3]) {
		return p, errors.New("the salt or the hash has the wrong length")
	}
	return p, nil
}

// decodeExactly decodes base64, and reports whether it fills dst.
func decodeExactly(dst []byte, text string) bool {
	b, err := base64.RawStdEncoding.Strict().DecodeString(text)
	return err == nil && copy(dst, b) == len(dst) && len(b) == len(dst)
}

// of returns the hash of a password with the salt of p. Without rounds, which happens if there are no Users, there is nothing to compare.
func (p *passwordHash) of(password string) (sum [sha256.Size]byte) {
	if p.rounds == 0 {
		return sum
	}
	key, err := pbkdf2.Key(sha256.New, password, p.salt[:], p.rounds, sha256.Size)
	if err != nil {
		panic("middleware: HashPassword: " + err.Error()) // cannot happen with these lengths
	}
	copy(sum[:], key)
	return sum
}

// matches reports whether a password is the right one, in constant time.
func (p *passwordHash) matches(password string) bool {
	sum := p.of(password)
	return subtle.ConstantTimeCompare(sum[:], p.sum[:]) == 1 && p.rounds > 0
}
