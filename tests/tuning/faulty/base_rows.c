/* The generated registry under other names, so that faulty_rows.cpp can make its own of it. */
#define tw_generated_kernels base_kernels
#define tw_generated_kernel_count base_kernel_count
#define tw_generated_packers base_packers
#define tw_generated_packer_count base_packer_count
#include "registry.c"
