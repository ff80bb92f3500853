package middleware

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// The values of cookies, before base64:
//
//	signed     1 plain hmac(32)
//	encrypted  2 seed(24) ciphertext tag(16)
//
// The plain text is the Unix time when the cookie expires, in milliseconds, 8 bytes, and then the value. Before encryption, it is padded
// with a byte 0x80 and zeros to a multiple of 32 bytes. The name of the cookie and the first byte are the additional data.

const (
	signedVersion    = 1
	encryptedVersion = 2

	expirySize = 8
	seedSize   = 24
	padStep    = 32
)

// appendExpiry appends a time to b.
func appendExpiry(b []byte, until time.Time) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(until.UnixMilli()))
}

// cutExpiry takes the time off that appendExpiry has appended.
func cutExpiry(b []byte) (until time.Time, rest []byte, ok bool) {
	if len(b) < expirySize {
		return until, nil, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(b))), b[expirySize:], true
}

var signedSeal = seal{purpose: "gallop cookie signed", seal: sign, open: verify}

func sign(key, name, plain []byte) []byte {
	b := append([]byte{signedVersion}, plain...)
	return signatureOf(key, name, b, b)
}

// signatureOf appends the HMAC of a name and of a signed text to b. The length of the name separates both.
func signatureOf(key, name, signed, b []byte) []byte {
	m := hmac.New(sha256.New, key)
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(name)))
	m.Write(length[:])
	m.Write(name)
	m.Write(signed)
	return m.Sum(b)
}

func verify(key, name, sealed []byte) (plain []byte, ok bool) {
	at := len(sealed) - sha256.Size
	if at < 1 || sealed[0] != signedVersion {
		return nil, false
	}
	return sealed[1:at], hmac.Equal(sealed[at:], signatureOf(key, name, sealed[:at], nil))
}

var encryptedSeal = seal{purpose: "gallop cookie encrypted", seal: encrypt, open: decrypt}

func encrypt(key, name, plain []byte) []byte {
	b := make([]byte, 1+seedSize, 1+seedSize+len(plain)+padStep+16)
	b[0] = encryptedVersion
	rand.Read(b[1:])
	padded := append(plain, 0x80)
	for len(padded)%padStep != 0 {
		padded = append(padded, 0)
	}
	aead, nonce := cipherOf(key, b[1:])
	return aead.Seal(b, nonce, padded, additional(name))
}

func decrypt(key, name, sealed []byte) (plain []byte, ok bool) {
	if len(sealed) < 1+seedSize || sealed[0] != encryptedVersion {
		return nil, false
	}
	aead, nonce := cipherOf(key, sealed[1:1+seedSize])
	plain, err := aead.Open(nil, nonce, sealed[1+seedSize:], additional(name))
	if err != nil {
		return nil, false
	}
	for len(plain) > 0 && plain[len(plain)-1] == 0 {
		plain = plain[:len(plain)-1]
	}
	if len(plain) == 0 || plain[len(plain)-1] != 0x80 {
		return nil, false
	}
	return plain[:len(plain)-1], true
}

func additional(name []byte) []byte { return append([]byte{encryptedVersion}, name...) }

// cipherOf returns the cipher and the nonce for one cookie. A cookie has a key of its own, so nonces cannot repeat under one key.
func cipherOf(key, seed []byte) (cipher.AEAD, []byte) {
	derived, err := hkdf.Expand(sha256.New, key, "gallop cookie "+string(seed), 32+12)
	if err != nil {
		panic("middleware: EncryptCookies: " + err.Error()) // cannot happen with these lengths
	}
	block, err := aes.NewCipher(derived[:32])
	if err != nil {
		panic("middleware: EncryptCookies: " + err.Error())
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("middleware: EncryptCookies: " + err.Error())
	}
	return aead, derived[32:]
}
