package clientprops

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"
	"strings"
)

// errPassword is wrapped by errors that a right password would not meet.
var errPassword = errors.New("does not open the key")

// decryptKey gives a private key's PEM text without encryption. One that is
// encrypted as PKCS #8 with PBES2 (RFC 8018: PBKDF2 and AES-CBC), which is
// what OpenSSL writes, is opened with the password.
func decryptKey(text []byte, password string) ([]byte, error) {
	for rest := text; ; {
		block, after := pem.Decode(rest)
		switch {
		case block == nil:
			return nil, errors.New("has no private key in it: PEM text with BEGIN PRIVATE KEY is wanted")
		case block.Type == "ENCRYPTED PRIVATE KEY":
			der, err := openPKCS8(block.Bytes, password)
			if err != nil {
				return nil, err
			}
			return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
		case block.Headers["DEK-Info"] != "":
			return nil, errors.New("is encrypted in OpenSSL's old way, which is not safe; convert it by: openssl pkcs8 -topk8 -in KEY -out NEWKEY")
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			if password != "" {
				return nil, fmt.Errorf("%w: it is not encrypted; leave the password out", errPassword)
			}
			return text, nil
		}
		rest = after
	}
}

// The ASN.1 of RFC 5958 and RFC 8018.
type encryptedKey struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

type pbes2 struct {
	Derivation, Scheme pkix.AlgorithmIdentifier
}

type pbkdf2Params struct {
	Salt       []byte
	Iterations int
	KeyLength  int                      `asn1:"optional"`
	Function   pkix.AlgorithmIdentifier `asn1:"optional"`
}

var (
	oidPBES2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
	oidHMAC   = asn1.ObjectIdentifier{1, 2, 840, 113549, 2} // .7 SHA-1, .9 SHA-256, .10 SHA-384, .11 SHA-512
	oidAES    = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 1}
)

// maxIterations bounds the work that a key can ask for: OpenSSL's default is
// 2048, careful people take a million.
const maxIterations = 2_000_000

var errScheme = errors.New("is encrypted in a way that is not supported: PBES2 with PBKDF2 and AES-CBC is, as openssl pkcs8 -topk8 writes it")

// openPKCS8 decrypts the content of an ENCRYPTED PRIVATE KEY.
func openPKCS8(der []byte, password string) ([]byte, error) {
	var outer encryptedKey
	var params pbes2
	var derivation pbkdf2Params
	var iv []byte
	if password == "" {
		return nil, fmt.Errorf("%w: it is encrypted, and there is no password", errPassword)
	}
	if _, err := asn1.Unmarshal(der, &outer); err != nil || !outer.Algorithm.Algorithm.Equal(oidPBES2) || !parse(outer.Algorithm, &params) ||
		!params.Derivation.Algorithm.Equal(oidPBKDF2) || !parse(params.Derivation, &derivation) || !parse(params.Scheme, &iv) {
		return nil, errScheme
	}
	keyLength, ok := aesKeyLength(params.Scheme.Algorithm)
	function := hmacOf(derivation.Function.Algorithm)
	if !ok || function == nil || len(iv) != aes.BlockSize || derivation.Iterations < 1 || derivation.Iterations > maxIterations ||
		len(outer.Data) == 0 || len(outer.Data)%aes.BlockSize != 0 {
		return nil, errScheme
	}
	key, err := pbkdf2.Key(function, password, derivation.Salt, derivation.Iterations, keyLength)
	if err != nil {
		return nil, errScheme
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, errScheme
	}
	plain := make([]byte, len(outer.Data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, outer.Data)
	return unpad(plain)
}

// parse reads an algorithm's parameters.
func parse(algorithm pkix.AlgorithmIdentifier, into any) bool {
	_, err := asn1.Unmarshal(algorithm.Parameters.FullBytes, into)
	return err == nil
}

// unpad takes PKCS #7's padding off, which a wrong password leaves broken.
func unpad(plain []byte) ([]byte, error) {
	n := int(plain[len(plain)-1])
	if n < 1 || n > aes.BlockSize || !bytes.HasSuffix(plain, bytes.Repeat([]byte{byte(n)}, n)) {
		return nil, errPassword
	}
	return plain[:len(plain)-n], nil
}

// aesKeyLength is the bytes of an AES-CBC key by its algorithm.
func aesKeyLength(id asn1.ObjectIdentifier) (int, bool) {
	if len(id) != len(oidAES)+1 || !id[:len(oidAES)].Equal(oidAES) {
		return 0, false
	}
	n, ok := map[int]int{2: 16, 22: 24, 42: 32}[id[len(oidAES)]]
	return n, ok
}

// hmacOf is the hash of an HMAC by its algorithm, nil for an unknown one.
// SHA-1 is the standard's default.
func hmacOf(id asn1.ObjectIdentifier) func() hash.Hash {
	if len(id) == 0 {
		return sha1.New
	}
	if len(id) != len(oidHMAC)+1 || !id[:len(oidHMAC)].Equal(oidHMAC) {
		return nil
	}
	return map[int]func() hash.Hash{7: sha1.New, 9: sha256.New, 10: sha512.New384, 11: sha512.New}[id[len(oidHMAC)]]
}
