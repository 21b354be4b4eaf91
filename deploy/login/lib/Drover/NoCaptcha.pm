package Drover::NoCaptcha;

# The portal loads a module for captchas also if it shows none. This one needs no graphics library.

use strict;
use Mouse;

extends 'Lemonldap::NG::Portal::Main::Plugin';

our $VERSION = '1.0.0';

sub init { return 1 }

1;
