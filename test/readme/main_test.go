package readme_test

import (
	"log"
	"os"
	"testing"
)

// TestMain runs the tests in the root of the module, where the names of files in pages begin.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		log.Fatal(err)
	}
	m.Run()
}
