module orloptest

go 1.23
