package Drover::Audience;

# Plugin of the portal: the audience of access tokens is `drover`. LemonLDAP::NG can add audiences only to access tokens
# and ID tokens alike, and ID tokens must not be accepted in their place.

use strict;
use Mouse;
use Lemonldap::NG::Portal::Main::Constants qw(PE_OK);

extends 'Lemonldap::NG::Portal::Main::Plugin';

our $VERSION = '1.0.0';

use constant hook => { oidcGenerateAccessToken => 'setAudience' };

sub setAudience {
    my ( $self, $req, $payload ) = @_;
    $payload->{aud} = ['drover'];
    return PE_OK;
}

1;
