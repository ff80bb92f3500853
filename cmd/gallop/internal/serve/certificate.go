package serve

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"os"
	"strings"
)

// checkCertificate reports why the certificate cannot be used, and names the flag of the file that is
// to blame.
func (c *Config) checkCertificate() error {
	cert, err := readPEM("--tls-cert", c.CertFile, "CERTIFICATE", "certificate")
	if err != nil {
		return err
	}
	key, err := readPEM("--tls-key", c.KeyFile, "PRIVATE KEY", "private key")
	if err != nil {
		return err
	}
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		return fmt.Errorf("--tls-cert %s and --tls-key %s do not work together: %w", c.CertFile, c.KeyFile, err)
	}
	return nil
}

// readPEM reads the file of a flag, and checks that it has a block of that type.
func readPEM(flag, file, block, what string) ([]byte, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	for p, rest := pem.Decode(b); p != nil; p, rest = pem.Decode(rest) {
		if strings.HasSuffix(p.Type, block) {
			return b, nil
		}
	}
	return nil, fmt.Errorf("%s: %s has no %s in PEM", flag, file, what)
}
