"""How kernels become machine code, and the records that they work on."""
