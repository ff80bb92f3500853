package plainjson

// nameTable has the names of members that came before. The objects of a list have the same ones, so that one string does for
// all of them. Each has one place, from which another one may take it.
type nameTable [256]string

// maxName is how long a name is kept.
const maxName = 32

// same returns name as a string, the one that was returned for it before if that is still there.
func (n *nameTable) same(name []byte) string {
	if len(name) == 0 || len(name) > maxName {
		return string(name)
	}
	place := &n[name[0]*31+name[len(name)/2]*7+name[len(name)-1]+byte(len(name))]
	if *place != string(name) {
		*place = string(name)
	}
	return *place
}
