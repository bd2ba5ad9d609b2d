// Compiled with KleidiAI's headers.
#define SIGNATURES their_signatures
#include "kleidiai/names/signatures.inc"
