package plainjson

// nameTable has the names of members that came before. The objects of a list have the same ones, so that one string does for
// all of them. Each has one place, from which another one may take it.
type nameTable [256]string

// maxName is how long a name is kept.
const maxName = 32

// same returns name as a string, the one that was returned for it before if that is still there.
func (d *decoder) same(name []byte) string {
	if len(name) == 0 || len(name) > maxName {
		return d.kept(name)
	}
	place := &d.names[placeOf(name)]
	if *place != string(name) {
		*place = d.kept(name)
	}
	return *place
}

// placeOf returns a number that differs for most strings. b is not empty.
func placeOf(b []byte) byte {
	return b[0]*31 + b[len(b)/2]*7 + b[len(b)-1] + byte(len(b))
}
