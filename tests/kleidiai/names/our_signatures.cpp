// Compiled with our headers in place of KleidiAI's.
#define kai_get_version our_kai_get_version  // which the linker would take for the other one
#define SIGNATURES our_signatures
#include "kleidiai/names/signatures.inc"
