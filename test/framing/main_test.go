package framing_test

import (
	"testing"

	"github.com/gallop-http/gallop/internal/wiretest"
)

func TestMain(m *testing.M) { wiretest.RunWaiting(m) }
